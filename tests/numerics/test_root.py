"""The bracketed root finder returns only verified points, even for badly behaved functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.numerics._root import safe_root


def column(dtype: str, *values: float) -> jax.Array:
    return jnp.asarray(values, dtype)


def square_root(dtype: str, aim, start, *, safe=2.0, unsafe=0.0, **options) -> np.ndarray:
    """Solve 2 - x**2 <= 0, safe above; ``aim`` proposes the next point."""
    size = len(start)
    evaluate = lambda x: (2 - x * x, aim(x))  # noqa: E731
    solve = lambda s: safe_root(  # noqa: E731
        evaluate, s, safe=jnp.full(size, safe, dtype), unsafe=jnp.full(size, unsafe, dtype), **options
    )
    return np.asarray(jax.jit(solve)(start))


def is_root(found, rounding: float) -> bool:
    return np.allclose(found, np.sqrt(2), rtol=rounding, atol=0)


AIMS = {
    "newton": lambda x: 0.5 * (x + 2 / x),
    "nan": lambda x: jnp.full_like(x, jnp.nan),
    "outside": lambda x: jnp.full_like(x, 100.0),
    "backwards": lambda x: 2 * x,
    "infinite": lambda x: jnp.full_like(x, jnp.inf),
}


@pytest.mark.parametrize("aim", AIMS)
def test_every_aim_ends_on_the_safe_side_of_the_root(precision, aim):
    root = square_root(precision, AIMS[aim], column(precision, 1.0, 1.9, 0.1, np.nan, -5.0, 7.0))
    assert np.all(root * root >= 2)
    np.testing.assert_allclose(root, np.sqrt(2), rtol=40 * np.finfo(precision).eps)


def test_a_residual_that_is_nan_gives_the_safe_end(precision):
    ends = {"safe": column(precision, 1.0, 1.0), "unsafe": column(precision, 0.0, 0.0)}
    result = safe_root(lambda x: (x * jnp.nan, x), column(precision, 0.5, 0.1), **ends)
    np.testing.assert_array_equal(result, 1)


def test_newton_needs_few_steps_and_bisection_the_number_of_bits(precision):
    start, info = column(precision, 1.9), np.finfo(precision)
    assert is_root(square_root(precision, AIMS["newton"], start, max_steps=8), 40 * info.eps)
    assert is_root(square_root(precision, AIMS["nan"], start, max_steps=info.nmant + 2), 40 * info.eps)
    assert not is_root(square_root(precision, AIMS["nan"], start, max_steps=info.nmant // 2), 40 * info.eps)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_running_out_of_steps_is_loose_but_safe(precision, steps):
    root = square_root(precision, AIMS["nan"], column(precision, 1.0, 1.9), max_steps=steps)
    assert np.all((root * root >= 2) & (root <= 2))
    if steps == 0:
        assert np.all(root == 2)


def test_an_aim_that_creeps_on_the_unsafe_side_gives_the_safe_end(precision):
    assert float(square_root(precision, lambda x: jnp.minimum(x, 1.2), column(precision, 1.0))[0]) == 2


def test_a_function_without_a_safe_point_inside_gives_the_safe_end(precision):
    positive = lambda x: (jnp.ones_like(x), x)  # noqa: E731
    result = safe_root(positive, column(precision, 0.3), safe=column(precision, 1.0), unsafe=column(precision, 0.0))
    assert float(result[0]) == 1


def test_a_function_that_is_safe_everywhere_approaches_the_other_end(precision):
    negative = lambda x: (-jnp.ones_like(x), jnp.full_like(x, -1.0))  # noqa: E731
    result = safe_root(negative, column(precision, 0.3), safe=column(precision, 1.0), unsafe=column(precision, 0.0))
    assert 0 < float(result[0]) < 1e-6


def test_the_safe_end_may_be_the_lower_one(precision):
    falling = lambda x: (x * x - 2, 0.5 * (x + 2 / x))  # noqa: E731
    result = safe_root(
        falling, column(precision, 1.0, 1.9), safe=column(precision, 0, 0), unsafe=column(precision, 2, 2)
    )
    root = np.asarray(result)
    assert np.all(root * root <= 2)
    np.testing.assert_allclose(root, np.sqrt(2), rtol=40 * np.finfo(precision).eps)


def test_a_difficult_element_does_not_change_the_others(precision):
    target = column(precision, 0.5, 2.0, 3.0)
    evaluate = lambda x, goal: (goal - x * x, jnp.where(goal > 2.5, jnp.nan, 0.5 * (x + goal / x)))  # noqa: E731

    def solve(goal: jax.Array) -> jax.Array:
        ends = {"safe": jnp.full_like(goal, 2), "unsafe": jnp.zeros_like(goal)}
        return safe_root(lambda x: evaluate(x, goal), jnp.ones_like(goal), **ends)

    together, apart = np.asarray(jax.jit(solve)(target)), np.asarray(jax.jit(solve)(target[:2]))
    np.testing.assert_array_equal(together[:2], apart)
    np.testing.assert_array_equal(np.asarray(jax.jit(jax.vmap(solve))(target[:, None]))[:, 0], together)
    np.testing.assert_allclose(together, np.sqrt(np.asarray(target)), rtol=40 * np.finfo(precision).eps)
