"""The exact probability with which coins pass, and the smallest wealth that may count as passed.

For returns of 0 and 1 the wealth after t rollouts depends on the number s of successes alone. A task passes on a set of
(t, s) that contains all larger s with each s, is given up on one that contains all smaller s, and is left after the
last rollout. The probability to pass therefore grows with J, and is at most its value at J = B, which a recursion over
t gives. By Ville's inequality it is at most 1/goal; the exact one allows a smaller goal.
"""

import functools
from typing import Any

import numpy as np

# The table has this number squared of entries.
MOST_ROLLOUTS = 2000

# The wealth and the probabilities are products of at most 2000 numbers in double precision: off by less.
_MARGIN = 1e-9
# Steps of the bisection: they leave a thousandth of the goal.
_STEPS = 12


def calibrated_goals(thresholds: Any, beta: Any, bets: np.ndarray, give_up: float, max_rollouts: int) -> np.ndarray:
    """The goal at each threshold, float64[t]: at most 1/beta, and tasks with J < B pass with probability <= beta.

    Thresholds outside (0, 1), where there is nothing to decide, and a beta outside (0, 1) have 1/beta or infinity.
    """
    level = float(beta)
    if not 0 < level < 1:
        return np.full(np.shape(thresholds), np.inf)
    settings = level, tuple(bets.tolist()), give_up, int(max_rollouts)
    ville = float(np.nextafter(1 / level, np.inf))
    return np.array([_goal(float(b), *settings) if 0 < b < 1 else ville for b in np.asarray(thresholds)])


@functools.lru_cache(maxsize=1024)
def _goal(threshold: float, beta: float, bets: tuple[float, ...], give_up: float, max_rollouts: int) -> float:
    wealth = _wealth_up(threshold, bets, max_rollouts)
    low, high = 0.0, np.log(np.nextafter(1 / beta, np.inf))
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        good = probability_up(wealth, threshold, float(np.exp(middle)), give_up) <= beta
        low, high = (low, middle) if good else (middle, high)
    return float(np.exp(high)) if high < np.log(1 / beta) else float(np.nextafter(1 / beta, np.inf))


def _wealth_up(threshold: float, bets: tuple[float, ...], max_rollouts: int) -> np.ndarray:
    """At least the mean wealth after t rollouts with s successes, [t, s]; 0 where s > t."""
    t = np.arange(1, max_rollouts + 1)[:, None]
    s = np.arange(max_rollouts + 1)[None, :]
    total = np.zeros((max_rollouts, max_rollouts + 1))
    with np.errstate(divide="ignore", over="ignore"):
        for bet in bets:
            lost = (t - s) * np.log1p(-bet) if bet < 1 else np.where(t > s, -np.inf, 0.0)
            total += np.exp(lost + s * np.log1p(bet * (1 - threshold) / threshold))
    return np.where(s <= t, total / len(bets) * (1 + _MARGIN), 0.0)


def probability_up(wealth: np.ndarray, p: float, goal: float, give_up: float) -> float:
    """At least the probability with which coins of bias p reach the goal before they are given up or left."""
    alive, reached = np.zeros(wealth.shape[1]), 0.0
    alive[0] = 1.0
    for t, row in enumerate(wealth, start=1):
        alive[1 : t + 1] = alive[1 : t + 1] * (1 - p) + alive[:t] * p
        alive[0] *= 1 - p
        now, passing = alive[: t + 1], row[: t + 1] >= goal
        reached += now[passing].sum()
        now[passing | ((row[: t + 1] <= give_up) if give_up > 0 else False)] = 0.0
    return reached * (1 + _MARGIN) + 1e-300
