"""Designs whose tasks are rolled out until they pass or are given up."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.numerics._rounding import cast
from jaxcert.planning._kind import Kind, PerTask, Question
from jaxcert.sequential import certify_sequential


def _per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """Tasks that pass within m rollouts."""
    assert question.threshold is not None
    threshold = cast(question.threshold, returns.dtype, "up")
    returns, levels = jnp.asarray(returns[:, :m]), cast(betas, returns.dtype, "nearest")
    lower, used = zip(*(_run(returns, threshold, beta, question[:2]) for beta in levels), strict=True)
    return PerTask(np.stack(lower), np.stack(used))


def _stopped(course: PerTask, m: int, low: float) -> PerTask:
    """What the first m rollouts decide, which depends on no later one."""
    return PerTask(np.where(course.used <= m, course.lower, np.float32(low)), np.minimum(course.used, m))


@functools.partial(jax.jit, static_argnums=3)
def _run(returns, threshold, beta, fixed) -> tuple[jax.Array, jax.Array]:
    """Lower bounds, and after how many rollouts tasks pass or are given up, [N]."""
    support, delta = fixed
    found = certify_sequential(returns, threshold, support=support, delta=delta, beta=beta, validate=False)
    return found.lower_bounds, found.num_rollouts_used[..., 0]


def _certify(returns: Any, beta: Any, question: Question) -> Certificate:
    assert question.threshold is not None
    return certify_sequential(returns, question.threshold, support=question.support, delta=question.delta, beta=beta)


SEQUENTIAL = Kind("sequential", {}, _per_task, _certify, lambda binary: True, _stopped, needs_threshold=True)
