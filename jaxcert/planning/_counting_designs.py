"""Designs that count tasks: at one level, at the best of several, and of successes."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds import betting
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, certify, certify_safety_level
from jaxcert.certificates._binomial import BINOMIAL, CHOICE
from jaxcert.certificates._level_choice import AUTO
from jaxcert.certificates.attained import ATTAINED
from jaxcert.numerics import binomial_cdf
from jaxcert.numerics._rounding import cast, cast_host
from jaxcert.planning._kind import Joint, Kind, PerTask, Question
from jaxcert.planning._limits import on_rows, safety_of


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


_OF_BETTING = {"bound": betting.__name__}
_LEVELS = len(CHOICE.betas)
_DATA_SETS = 4096


def _best_per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """The share of the levels at which a task passes; those are the largest."""
    assert question.threshold is not None
    course = bounds_per_task(BOUNDS[betting.__name__], returns, m, np.asarray(CHOICE.betas), question)
    passes = course.lower >= np.asarray(question.threshold).astype(returns.dtype)
    passed = np.sum(np.logical_and.accumulate(passes[::-1]), axis=0)[None]
    return PerTask((passed / _LEVELS).astype(np.float32), course.used[:1])


def _safeties(
    scores: np.ndarray, n: int, beta: str, m: int, question: Question, rng: np.random.Generator
) -> np.ndarray:
    """By Monte Carlo over how many of n tasks pass at 0, 1, ... of the levels."""
    passed = np.round(scores * _LEVELS).astype(int)
    chances = np.stack([np.mean(passed == count, axis=1) for count in range(_LEVELS + 1)], axis=-1)
    counts = rng.multinomial(n, chances[:, None], size=(len(scores), _DATA_SETS // len(scores)))
    # At the smallest level only tasks count that pass at all; at the largest, all that pass at one.
    violations = np.cumsum(counts, axis=-1)[..., -2::-1]
    delta = float(cast_host(np.asarray(question.delta), np.dtype(np.float32), "down"))
    each = CHOICE.delta_each(n, delta, CHOICE.betas)
    return np.max(
        [_by_count(violations[..., g], n, beta, each) for g, beta in enumerate(CHOICE.betas)],
        axis=0,
    )


def _by_count(violations: np.ndarray, n: int, beta: float, delta: float) -> np.ndarray:
    k, place = np.unique(violations, return_inverse=True)
    return safety_of(BINOMIAL, k, n, beta, delta)[place.reshape(violations.shape)]


AUTO_DESIGNS = Kind(
    AUTO,
    _OF_BETTING,
    _best_per_task,
    functools.partial(certify_fixed, _OF_BETTING),
    lambda binary: not binary,
    needs_threshold=True,
    # Each number of tasks needs a calibration, of up to a second.
    joint=Joint(lambda m: (AUTO,), _safeties, 2**12, lambda m, counted: 3 / 4 < m / counted < 4 / 3),
    only_beta=AUTO,
)


# Near which the levels of a design are.
_NEAR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_OF_SUCCESSES = {"method": ATTAINED.name}


def _successes_per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """The threshold for tasks with enough successes, else the lower end; without a threshold, lower bounds."""
    if question.threshold is None:
        return bounds_per_task(CLOPPER_PEARSON, returns, m, betas, question)
    enough = _enough(m, betas, question.threshold)
    passes = np.sum(returns[:, :m], axis=1) >= enough[:, None]
    lower = np.where(passes, question.threshold, question.support[0]).astype(returns.dtype)
    return PerTask(lower, np.full(lower.shape, m, np.int32))


def _enough(m: int, betas: np.ndarray, threshold: float) -> np.ndarray:
    """The number of successes that counts at each level; m + 1 if none does."""
    return np.sum(_attained(m, threshold)[:, None] > betas, axis=0)


def _levels(m: int, threshold: float) -> np.ndarray:
    """The levels near the usual ones that m rollouts attain, in few figures: as many, some of them alike."""
    level = _attained(m, threshold)[np.minimum(_enough(m, np.asarray(_NEAR), threshold), m)]
    # Larger by more than the rounding of either: at that beta this number of successes counts.
    return np.clip(np.ceil(level * 1e4 + 0.05) / 1e4, 1e-4, 0.9999)


def _attained(m: int, threshold: float) -> np.ndarray:
    """About the level of c = 0, 1, ..., m successes."""
    below = on_rows(binomial_cdf, np.arange(m), m, threshold).astype(np.float64)
    return np.concatenate([[1.0], 1 - below])


SUCCESSES = Kind(
    ATTAINED.name,
    _OF_SUCCESSES,
    _successes_per_task,
    functools.partial(certify_fixed, _OF_SUCCESSES),
    lambda binary: binary,
    levels=_levels,
)
