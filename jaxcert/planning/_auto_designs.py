"""Designs that leave beta to the data: the best of a few levels."""

import functools
from typing import Any

import numpy as np

from jaxcert.bounds import betting
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._binomial import BINOMIAL, CHOICE
from jaxcert.certificates._level_choice import AUTO
from jaxcert.numerics._rounding import cast_host
from jaxcert.planning._fixed_designs import bounds_per_task, certify_fixed
from jaxcert.planning._kind import Joint, Kind, PerTask, Question
from jaxcert.planning._limits import safety_of

_ARGUMENTS = {"bound": betting.__name__}
_LEVELS = len(CHOICE.betas)
_DATA_SETS = 4096


def _per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
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
    _ARGUMENTS,
    _per_task,
    functools.partial(certify_fixed, _ARGUMENTS),
    lambda binary: not binary,
    needs_threshold=True,
    # Each number of tasks needs a calibration, of up to a second.
    joint=Joint(lambda m: (AUTO,), _safeties, 2**12, lambda m, counted: 3 / 4 < m / counted < 4 / 3),
    only_beta=AUTO,
)
