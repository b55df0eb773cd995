"""Designs with a fixed number of rollouts: of bounds that are counted."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, certify, certify_safety_level
from jaxcert.numerics._rounding import cast
from jaxcert.planning._kind import Kind, PerTask, Question


def fixed(bound: str, suits: Callable[[bool], bool]) -> Kind:
    """Designs that count the tasks whose bound of that name misses the threshold."""
    arguments = {"bound": bound}
    per_task = functools.partial(bounds_per_task, BOUNDS[bound])
    return Kind(bound, arguments, per_task, functools.partial(certify_fixed, arguments), suits)


def bounds_per_task(bound: Bound, returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """Lower bounds from the first m rollouts."""
    dtype = returns.dtype
    low, high = cast(question.support[0], dtype, "down"), cast(question.support[1], dtype, "up")
    given = bound, jnp.asarray(returns), np.int32(m)
    # Level by level, for memory, and so that one program serves any number of them.
    lower = np.stack([_bounds(*given, beta, low, high) for beta in cast(betas, dtype, "nearest")])
    return PerTask(lower, np.full(lower.shape, m, np.int32))


@functools.partial(jax.jit, static_argnums=0)
def _bounds(bound: Bound, returns, m, beta, low, high) -> jax.Array:
    """Lower bounds [N] from the first m rollouts."""
    mask = jnp.broadcast_to(jnp.arange(returns.shape[-1], dtype=m.dtype) < m, returns.shape)
    return evaluate(bound, returns, beta, low, high, mask)


def certify_fixed(arguments: dict[str, str], returns: Any, beta: Any, question: Question) -> Certificate:
    """Certificates at the threshold, or at the safety if there is none."""
    settings: dict[str, Any] = {"support": question.support, "delta": question.delta, "beta": beta, **arguments}
    if question.threshold is None:
        assert question.safety is not None
        return certify_safety_level(returns, question.safety, **settings)
    return certify(returns, question.threshold, **settings)
