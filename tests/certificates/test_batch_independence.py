"""What else is in a batch has no influence on an element; its place and the shape of the batch have next to none.

XLA compiles each shape anew, and vector lanes apart from what is left over. It may contract a product and a sum in one
of them only: a few results then differ in their last bits. All of them lie on the safe side.
"""

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest

from jaxcert import binomial_epsilon, scenario_epsilon

SIZE = 120


def solve(*problem):
    solution = scenario_epsilon(*problem)
    return binomial_epsilon(*problem), solution.epsilon, solution.num_valid


def random_problems(dtype: str) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(11)
    n = np.round(10 ** rng.uniform(0, 5, SIZE))
    k = np.floor(rng.random(SIZE) ** 3 * (n + 1))
    levels = 10 ** rng.uniform(-8, -0.2, (2, SIZE))
    return tuple(jnp.asarray(value, dtype) for value in (k, n, *levels))


def assert_equal_but_for_the_last_bits(one, other, dtype: str) -> None:
    for left, right in zip(one[:2], other[:2], strict=True):
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.asarray(one[2]), np.asarray(other[2]))


@pytest.mark.parametrize("seed", [0, 1])
def test_other_elements_have_no_influence_and_their_order_next_to_none(precision, seed):
    rng = np.random.default_rng(seed)
    problem = random_problems(precision)
    whole = solve(*problem)
    order = rng.permutation(SIZE)
    moved = solve(*(value[order] for value in problem))
    assert_equal_but_for_the_last_bits(moved, [value[order] for value in whole], precision)
    kept = rng.random(SIZE) < 0.5
    hard = [jnp.asarray(value, precision) for value in (333_333, 10**6, 1e-3, 1e-15)]
    mixed = solve(*(jnp.where(kept, value, other) for value, other in zip(problem, hard, strict=True)))
    for one, other in zip(whole, mixed, strict=True):
        np.testing.assert_array_equal(np.asarray(one)[kept], np.asarray(other)[kept])


@pytest.mark.parametrize("size", [1, 7, SIZE - 1])
def test_size_of_the_batch_has_next_to_none(precision, size):
    problem = random_problems(precision)
    whole = solve(*problem)
    part = solve(*(value[-size:] for value in problem))
    assert_equal_but_for_the_last_bits(part, [value[-size:] for value in whole], precision)


def test_scalars_vmap_and_jit_agree(precision):
    problem = random_problems(precision)
    whole = solve(*problem)
    mapped = jax.jit(jax.vmap(solve))(*problem)
    assert_equal_but_for_the_last_bits(mapped, whole, precision)
    scalars = [solve(*(value[i] for value in problem)) for i in range(0, SIZE, 6)]
    assert_equal_but_for_the_last_bits(list(zip(*scalars, strict=True)), [value[::6] for value in whole], precision)
    for epsilon, k, n, beta, delta in zip(mapped[0][::4], *(value[::4] for value in problem), strict=True):
        assert oracles.binomial_is_safe(float(epsilon), int(k), int(n), float(beta), float(delta))
