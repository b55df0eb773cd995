"""What the tasks that are still undecided may come to."""

from typing import Any

import jax
import numpy as np

from jaxcert.numerics._bets import factor
from jaxcert.sequential._wealth import SequentialState

# Nobody makes more rollouts of a task one by one.
_MOST = 2**20


def fewest_to_pass(state: SequentialState) -> np.ndarray:
    """How many more rollouts each task needs at least to pass: as many as if each had the best return there is.

    Args:
        state: concrete.

    Returns:
        int[n, t]: 0 where a task has passed; -1 where it cannot pass, having been left or with too few rollouts left.
        With an open support one rollout may always be enough.
    """
    host: Any = jax.tree.map(np.asarray, state)
    fewest, most = np.ones(host.passed.shape, np.int64), np.full(host.passed.shape, _MOST)
    while np.any(fewest < most):
        middle = (fewest + most) // 2
        enough = _wealth_after(host, middle) >= host.goal
        fewest, most = np.where(enough, fewest, middle + 1), np.where(enough, middle, most)
    left = host.max_rollouts_per_task - host.num_rollouts[:, None]
    possible = host.is_open & (fewest <= np.minimum(left, _MOST - 1))
    return np.where(host.passed, 0, np.where(possible, fewest, -1))


def if_all_pass(state: SequentialState) -> SequentialState:
    """The state if every task passes where it still can: no certificate of this experiment will say more."""
    passed = np.asarray(state.passed) | (fewest_to_pass(state) > 0)
    return state._replace(passed=jax.numpy.asarray(passed))


def _wealth_after(host: Any, number: np.ndarray) -> np.ndarray:
    """The mean wealth after so many more returns at the upper end of the support, float64[n, t]."""
    low, bets = float(host.low), host.bets.astype(np.float64)
    width = np.maximum(host.thresholds.astype(np.float64) - low, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = factor(bets, ((float(host.high) - low) / width)[:, None])
        grown = host.wealth.astype(np.float64) * factors ** number[..., None]
    return np.where(host.wealth > 0, grown, 0.0).mean(axis=-1)
