"""Designs that add up evidence: soft counts, and rollouts one after another."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._soft import SOFT, default_alpha, evidence, least_evidence, shares, soft_epsilon
from jaxcert.numerics._rounding import cast, complement_down
from jaxcert.planning._counting_designs import certify_fixed
from jaxcert.planning._kind import Joint, Kind, PerTask, Question
from jaxcert.returns._prepared import Prepared
from jaxcert.sequential import certify_sequential

# Lengths of imagined data sets, and how many of them there are: shorter ones are masked, so that two programs serve
# all numbers of tasks.
_DATA_SETS = {2048: 512, 16384: 64}
_ARGUMENTS = {"method": SOFT.name}


def _betas(m: int) -> tuple[float, ...]:
    """The default weight, and those with half and twice its odds."""
    usual = default_alpha(m)
    odds = usual / (1 - usual)
    return usual, *(round(factor * odds / (1 + factor * odds), 4) for factor in (0.5, 2.0))


def _evidence_per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """min(1, alpha E) from the first m rollouts."""
    dtype = returns.dtype
    assert question.threshold is not None
    threshold = cast(np.asarray([question.threshold]), dtype, "up")
    low, high = cast(question.support[0], dtype, "down"), cast(question.support[1], dtype, "up")
    given = jnp.asarray(returns), np.int32(m), threshold, low, high, least_evidence(m, dtype)
    found = np.stack([_shares(*given, alpha) for alpha in cast(betas, dtype, "nearest")])
    return PerTask(found, np.full(found.shape, m, np.int32))


@jax.jit
def _shares(returns, m, threshold, low, high, least, alpha) -> jax.Array:
    """Shares [N] from the first m rollouts."""
    mask = jnp.broadcast_to(jnp.arange(returns.shape[-1], dtype=m.dtype) < m, returns.shape)
    wealth, _ = evidence(Prepared(returns, low, high, mask), threshold)
    return shares(wealth[..., 0], alpha, least)[0]


def _safeties(
    scores: np.ndarray, n: int, beta: float, m: int, question: Question, rng: np.random.Generator
) -> np.ndarray:
    """By Monte Carlo, over data sets of n of these shares."""
    length = next(length for length in _DATA_SETS if length >= n)
    chosen = rng.integers(scores.shape[1], size=(len(scores), _DATA_SETS[length] // len(scores), length))
    drawn = np.take_along_axis(scores[:, None], chosen, axis=-1)
    dtype = scores.dtype
    alpha, delta = cast(beta, dtype, "nearest"), cast(question.delta, dtype, "down")
    return np.asarray(_of_shares(drawn, np.int32(n), alpha, delta, least_evidence(m, dtype)))


@jax.jit
def _of_shares(share, n, alpha, delta, least) -> jax.Array:
    where = jnp.arange(share.shape[-1], dtype=n.dtype) < n
    return complement_down(soft_epsilon(share[..., None] / alpha, alpha, delta, least, where)[..., 0])


SOFT_DESIGNS = Kind(
    SOFT.name,
    _ARGUMENTS,
    _evidence_per_task,
    functools.partial(certify_fixed, _ARGUMENTS),
    lambda binary: not binary,
    needs_threshold=True,
    # More rollouts are for counts.
    joint=Joint(_betas, _safeties, max(_DATA_SETS), lambda m, counted: m <= counted),
    beta_name="alpha",
)


def _stopped_per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
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


SEQUENTIAL = Kind("sequential", {}, _stopped_per_task, _certify, lambda binary: True, _stopped, needs_threshold=True)
