"""What the tasks that are still undecided may come to, and how many more pairs of trials show one policy better."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._bets import factor
from jaxcert.sequential import SequentialState

# Nobody makes more rollouts of a task one by one.
_MOST = 2**20


def fewest_to_pass(state: SequentialState) -> np.ndarray:
    """How many more rollouts each task needs at least to pass: as many as if each had the best return there is.

    int[n, t]: 0 where a task has passed; -1 where it cannot pass, having been left or with too few rollouts left. With
    an open support one rollout may always be enough.
    """
    host: Any = jax.tree.map(np.asarray, state)
    fewest, most = np.ones(host.passed.shape, np.int64), np.full(host.passed.shape, _MOST)
    while np.any(fewest < most):
        middle = (fewest + most) // 2
        enough = _wealth_after(host, middle) >= host.goal
        fewest, most = np.where(enough, fewest, middle + 1), np.where(enough, middle, most)
    left = host.max_rollouts_per_task - host.num_rollouts[:, None]
    can_pass = host.is_open & (fewest <= np.minimum(left, _MOST - 1))
    return np.where(host.passed, 0, np.where(can_pass, fewest, -1))


def if_all_pass(state: SequentialState) -> SequentialState:
    """The state if every task passes where it still can: no certificate of this experiment will say more."""
    passed = np.asarray(state.passed) | (fewest_to_pass(state) > 0)
    return state._replace(passed=jnp.asarray(passed))


def _wealth_after(host: Any, number: np.ndarray) -> np.ndarray:
    """The mean wealth after this many more returns at the upper end of the support, float64[n, t]."""
    low, bets = float(host.low), host.bets.astype(np.float64)
    width = np.maximum(host.thresholds.astype(np.float64) - low, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = factor(bets, ((float(host.high) - low) / width)[:, None])
        grown = host.wealth.astype(np.float64) * factors ** number[..., None]
    return np.where(host.wealth > 0, grown, 0.0).mean(axis=-1)


def pairs_to_go(state: SequentialState, num_pairs: int) -> int | None:
    """Estimate how many more pairs show another policy better if all goes on as before; None if at least a thousand
    times as many.

    The evidence of each bet is then a power of its present value.
    """
    logs = np.log(np.maximum(np.asarray(state.wealth, np.float64)[:, 0], np.finfo(np.float64).tiny))
    goals = np.log(np.asarray(state.goal, np.float64)[0])
    more = np.unique(np.geomspace(1, 1000 * max(num_pairs, 1), 5000).astype(int))
    grown = logs[:, None, :] * (1 + more / max(num_pairs, 1))[:, None]
    mean = np.logaddexp.reduce(grown, axis=-1) - math.log(logs.shape[-1])
    enough = np.flatnonzero(np.any((mean >= goals) & np.asarray(state.is_open), axis=0))
    return int(more[enough[0]]) if enough.size else None
