"""Designs for returns of 0 and 1: tasks with enough successes are counted, at the level that this number attains."""

import functools
from typing import Any

import numpy as np

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates.attained import ATTAINED
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._fixed_designs import bounds_per_task, certify_fixed
from jaxcert.planning._kind import Kind, PerTask, Question
from jaxcert.planning._limits import on_rows

# Near which the levels of a design are.
_NEAR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_ARGUMENTS = {"method": ATTAINED.name}


def _per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
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
    _ARGUMENTS,
    _per_task,
    functools.partial(certify_fixed, _ARGUMENTS),
    lambda binary: binary,
    levels=_levels,
)
