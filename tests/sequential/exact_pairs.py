"""Two policies in pairs in exact arithmetic: the evidence by its definition, who decides, and how soon."""

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from jaxcert.sequential import SequentialState
from jaxcert.sequential._pairs import PAIR_BETS


def evidence(wins: int, losses: int, bets: Sequence[float] = PAIR_BETS) -> Fraction:
    """Of that many discordant pairs."""
    each = (Fraction(bet) for bet in bets)
    return sum(((1 + bet) ** wins * (1 - bet) ** losses for bet in each), Fraction(0)) / len(bets)


@functools.cache
def least_wins(goal: Fraction, most: int) -> tuple[int, ...]:
    """Of n = 0, ..., most discordant pairs, how many a policy has to win at least: n + 1 if that is too few pairs."""
    found, least = [], 0
    for n in range(most + 1):
        while least <= n and evidence(least, n - least) < goal:
            least += 1
        found.append(least)
    return tuple(found)


def table_of(state: SequentialState) -> tuple[int, ...]:
    """The same of a state for successes before its first pair."""
    return least_wins(Fraction(float(np.asarray(state.goal)[0])), int(state.max_rollouts_per_task))


def chances(least: Sequence[int], win: float, loss: float, num_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The probability with which A, and B, is shown to be better after 1, ..., num_pairs pairs, by all outcomes."""
    going, shown = np.zeros((num_pairs + 1, num_pairs + 1)), np.zeros((2, num_pairs + 1))
    going[0, 0] = 1.0
    wins, losses = np.indices(going.shape)
    limit = np.array([*least, *[np.iinfo(np.int64).max] * (2 * num_pairs + 1)])[wins + losses]
    for t in range(1, num_pairs + 1):
        after = (1 - win - loss) * going
        after[1:] += win * going[:-1]
        after[:, 1:] += loss * going[:, :-1]
        decided = wins >= limit, losses >= limit
        shown[:, t] = shown[:, t - 1] + [after[each].sum() for each in decided]
        going = np.where(decided[0] | decided[1], 0.0, after)
    return shown[0, 1:], shown[1, 1:]


def pairs_needed(least: Sequence[int], a: float, b: float, share: float, most: int = 200) -> int | None:
    """Pairs within which A, of success probability a against b, is shown to be better with that probability."""
    reached = np.flatnonzero(chances(least, a * (1 - b), b * (1 - a), most)[0] >= share)
    return int(reached[0]) + 1 if reached.size else None
