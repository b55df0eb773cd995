"""The interpreter of jaxprs: the same values, loops counted, operations moved; and the trips of a certificate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxprs import Interpreter, count_trips
from perturbed import as_on_a_gpu, least_margin

from benchmarks.gpu.timings import CALLS, certificate
from jaxcert.numerics import _binomial_kernel

# Every trip is a kernel launch or several, and where their number is open a wait for the device.
MOST_TRIPS = {"default": 24, "the paper's method": 60}


def nested(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Four steps of a scan with a while loop of 0, 1, 2 and 3 trips inside, and two more in half of the branches."""

    def step(carry: jax.Array, limit: jax.Array) -> tuple[jax.Array, jax.Array]:
        _, carry = jax.lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, s[1] * 1.5), (jnp.float32(0), carry))
        carry = jax.lax.cond(limit > 1, lambda c: jax.lax.fori_loop(0, 2, lambda _, v: v + 1, c), lambda c: c, carry)
        return jax.lax.optimization_barrier(jax.nn.relu(carry)), carry

    return jax.lax.scan(step, x, jnp.arange(4.0))


def test_the_values_are_those_of_the_program():
    expected = nested(jnp.float32(1))
    for found, value in zip(Interpreter().run(nested, jnp.float32(1))[0], expected, strict=True):
        np.testing.assert_array_equal(found, value)


def test_trips_of_nested_loops_add_up():
    assert count_trips(nested, jnp.float32(1)) == 4 + (0 + 1 + 2 + 3) + 2 * 2
    assert count_trips(jnp.sin, jnp.float32(1)) == 0


@pytest.mark.parametrize("name", CALLS)
def test_a_certificate_takes_few_trips(name, monkeypatch):
    """With as many terms per iteration as on a GPU, although it is traced on a CPU."""
    call, arguments = certificate(CALLS[name])
    monkeypatch.setattr(_binomial_kernel, "terms_at_once", lambda: 16)
    jax.clear_caches()
    try:
        assert 0 < count_trips(call, *arguments) <= MOST_TRIPS[name]
    finally:
        jax.clear_caches()


def test_an_operation_without_a_stated_error_is_refused():
    with pytest.raises(NotImplementedError, match="erf"):
        as_on_a_gpu(jax.lax.erf, jnp.ones(2))


def test_the_worst_moves_are_found():
    call, count = as_on_a_gpu(lambda x, y: 1 / x - 1 / y, jnp.float32(1.0), jnp.float32(1.0))

    def margin(moves: np.ndarray, seed: int) -> np.ndarray:
        return np.atleast_1d(np.asarray(call(moves, seed)) / 2.0**-24 + 7)

    # Up or down alone the two cancel; against each other they make 8.
    assert margin(np.ones(count), 0) == 7
    assert least_margin(margin, count) == pytest.approx(-1, abs=1)
    assert least_margin(margin, count) < 0
