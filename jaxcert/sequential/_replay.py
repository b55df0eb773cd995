"""Check that a state follows from the rollouts that led to it."""

from typing import Any

import jax
import numpy as np

from jaxcert.returns._checks import possible
from jaxcert.sequential._wealth import BOLDEST, SequentialState

# Relative to the wealth: one device may predict a bet a little differently than another.
_OF_PREDICTED_BETS = 0.05
# Far from where a state takes a difference or a ratio for 0, or for the largest number.
_LARGE = 2.0**50


def check_replay(state: SequentialState, task: np.ndarray, returns: np.ndarray) -> None:
    """Raise ValueError unless a state follows from its rollouts, up to rounding.

    Args:
        state: as it was written down; its settings are believed.
        task: of each rollout, in the order in which they were taken in, int[r].
        returns: of each rollout, float[r].

    Raises:
        ValueError: the state says something else; the message names the first such task, and the threshold.
    """
    arrays: Any = jax.tree.map(np.asarray, state)
    n = arrays.valid.size
    fits = possible(returns.astype(np.float64), float(arrays.low), float(arrays.high), bool(arrays.is_binary))
    # One outside the support refutes it for all tasks.
    impossible = (np.bincount(task[~fits], minlength=n) > 0) | bool(np.any(~fits & ~np.isnan(returns)))
    explained = (arrays.valid != impossible)[:, None] & (_explained(arrays, task, returns) | ~arrays.valid[:, None])
    for i, j in np.argwhere(~explained)[:1]:
        raise ValueError(
            f"what it says of task {i} at the threshold {arrays.thresholds[j]:.9g} is not what the rollouts in its log "
            "give; it was altered or damaged"
        )


def _explained(state: Any, task: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """Whether wealth and decision follow from the rollouts, of valid tasks, bool[n, t]."""
    wealth, certain, went_on = _replayed(state, task, returns)
    mean, slack = _mean(wealth), _slack(state)
    used, begun = state.num_rollouts_used, state.num_rollouts[:, None] * np.ones_like(state.num_rollouts_used)
    at_start = (used == 0) & (state.thresholds <= state.low)
    passed = np.where(used > 0, mean * (1 + slack) >= state.goal, at_start)
    goes_on = (used == begun) & _may_go_on(state, mean, slack, used)
    left = (mean * (1 - slack) <= state.give_up) & (state.give_up > 0) | (used == state.max_rollouts_per_task)
    decided = np.where(state.passed, passed, np.where(state.is_open, goes_on, left))
    tiny = np.finfo(state.wealth.dtype).tiny
    most, least = wealth * (1 + slack[..., None]) + tiny, np.where(certain, wealth * (1 - slack[..., None]) - tiny, 0)
    return went_on & decided & np.all((least <= state.wealth) & (state.wealth <= most), axis=-1)


def _replayed(state: Any, task: np.ndarray, returns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The wealth after the rollouts used, whether it is certain, and whether all but the last left the task undecided.

    It is certain where the state's wealth can be less by rounding alone: not where the state replaced extremes by less.
    """
    used, slack = state.num_rollouts_used, _slack(state)
    rounds = used.max(axis=1)
    order = np.argsort(-rounds, kind="stable")  # those that need the most rounds first
    x = returns[np.argsort(task, kind="stable")].astype(np.float64)
    first = np.cumsum(state.num_rollouts) - state.num_rollouts
    wealth, went_on = np.ones(state.wealth.shape), np.ones(used.shape, bool)
    certain = np.ones(wealth.shape, bool)
    sums = np.zeros((used.shape[0], 2))
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(int(rounds.max(initial=0))):
            some = order[: np.searchsorted(-rounds[order], -number)]
            excess = x[first[some] + number] - float(state.low)
            active = used[some] > number
            grown = wealth[some] * _factors(state, excess, sums[some], number)
            certain[some] &= ~active[..., None] | (_is_ordinary(state, excess)[..., None] & _is_normal(state, grown))
            wealth[some] = np.where(
                active[..., None], np.minimum(grown, np.finfo(state.wealth.dtype).max), wealth[some]
            )
            sums[some] += np.stack([excess, excess**2], axis=-1)
            may = _may_go_on(state, _mean(wealth[some]), slack[some], number + 1)
            went_on[some] &= may | (used[some] <= number + 1)
    return wealth, certain, went_on


def _may_go_on(state: Any, mean: np.ndarray, slack: np.ndarray, number: np.ndarray | int) -> np.ndarray:
    """Whether a task with this wealth after so many rollouts is undecided, or may be for another rounding."""
    is_left = (mean * (1 + slack) <= state.give_up) & (state.give_up > 0)
    return (mean * (1 - slack) < state.goal) & ~is_left & (number < state.max_rollouts_per_task)


def _mean(wealth: np.ndarray) -> np.ndarray:
    return wealth.mean(axis=-1)


def _slack(state: Any) -> np.ndarray:
    """By how much rounding may change the wealth, relative to it, [n, t]; about 20 roundings a rollout."""
    roundings = 20.0 * (state.num_rollouts_used + state.wealth.shape[-1])
    of_bets = _OF_PREDICTED_BETS if state.sums.shape[-1] else 0.0
    return roundings * np.finfo(state.wealth.dtype).eps / 2 + of_bets


def _factors(state: Any, excess: np.ndarray, sums: np.ndarray, number: int) -> np.ndarray:
    """The factor by which the wealth of each bet grows, [k, t, bets]: 1 - lambda + lambda (x - a)/(B - a)."""
    width = np.maximum(state.thresholds.astype(np.float64) - float(state.low), np.finfo(state.wealth.dtype).tiny)
    bets = state.bets.astype(np.float64)
    if state.sums.shape[-1]:
        bets = np.where(np.isnan(bets), _predicted(sums, width, number)[..., None], bets)
    return 1 - bets + bets * (excess[:, None] / width)[..., None]


def _is_ordinary(state: Any, excess: np.ndarray) -> np.ndarray:
    """Whether a state takes x - a and its ratio to B - a as they are, [k, t], with room for squares and sums."""
    width = state.thresholds.astype(np.float64) - float(state.low)
    few = (np.abs(excess) < _LARGE) & ((excess == 0) | (excess > 1 / _LARGE))
    ratio = excess[:, None] / np.maximum(width, np.finfo(np.float64).tiny)
    return few[:, None] & (width > 1 / _LARGE) & ((ratio == 0) | (ratio > 1 / _LARGE)) & (ratio < _LARGE)


def _is_normal(state: Any, wealth: np.ndarray) -> np.ndarray:
    """Whether no device takes it for 0, [k, t, bets]."""
    return (wealth == 0) | (wealth > np.finfo(state.wealth.dtype).tiny / np.finfo(state.wealth.dtype).eps)


def _predicted(sums: np.ndarray, width: np.ndarray, number: int) -> np.ndarray:
    """The bet from the rollouts before, [k, t]."""
    if number == 0:
        return np.full((len(sums), width.size), 0.5)
    mean = sums[:, :1] / width
    square = sums[:, 1:] / width**2 - 2 * mean + number + 0.25
    return np.clip((mean - number) / square, 0.0, BOLDEST)
