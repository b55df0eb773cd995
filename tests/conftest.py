"""Strict JAX for every test, and the two precisions as a fixture."""

import contextlib

import hypothesis
import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# The first example of a shape is compiled: no deadline. The same examples everywhere.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")


def x64_context(enabled: bool) -> contextlib.AbstractContextManager:
    """A context in which 64-bit types are on or off; the name moved between JAX versions."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(enabled)
    from jax.experimental import disable_x64, enable_x64

    return enable_x64() if enabled else disable_x64()


@pytest.fixture(params=["float32", pytest.param("float64", marks=pytest.mark.slow)])
def precision(request: pytest.FixtureRequest):
    """Run the test with 64-bit types off, and among the long tests with them on; gives the dtype's name."""
    with x64_context(request.param == "float64"):
        yield request.param


@pytest.fixture
def x64():
    """Run the test with 64-bit types on."""
    with x64_context(True):
        yield
