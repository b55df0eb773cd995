"""The goal of a plan: the cheapest design that certifies a safety at a threshold with a wanted probability."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._designs import Wish
from jaxcert.planning._least_tasks import least_tasks, most_violations, on_rows, reaches, safety_of
from jaxcert.planning._plan import Design

BETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# A negligible beta: the tasks' own risk remains.
_NO_BETA = 1e-9
# Pilot tasks may be luckier than tasks in general: the failure probability of the limits that allow for it. By these
# limits the cheapest of many similar designs is chosen, which counts as a choice from this number of unrelated ones.
_DOUBT, _LOOKS = 0.1, 3
# Violations that a design may allow: all small numbers, then steps of about a fifth.
_ALLOWED = np.unique(np.concatenate([np.arange(24), np.geomspace(24, 2000, 24).astype(int)]))


@dataclasses.dataclass(frozen=True)
class Goal:
    """A safety at a threshold, certified with a wanted probability, at the least cost."""

    wish: Wish
    cost_per_task: float
    power: float

    def betas(self, around: Design | None) -> np.ndarray:
        """Twelve levels to try, over the whole range or around the level of a design."""
        if around is None:
            return np.asarray(BETAS)
        place = np.searchsorted(BETAS, around.level)
        ends = BETAS[max(place - 1, 0)], BETAS[min(place + 1, len(BETAS) - 1)]
        return np.round(np.linspace(*ends, len(BETAS)), 4)

    def key(self, design: Design) -> tuple:
        """Sorts designs, best first."""
        met = self.is_met(design)
        return (not met, not self.holds(design), design.cost if met else -design.value)

    def is_met(self, design: Design) -> bool:
        """Whether the design reaches the goal."""
        return design.surely >= self.power

    def holds(self, design: Design) -> bool:
        """Whether it is known to do so even if the pilot tasks were luckier than tasks in general."""
        return design.pessimistic is not None and design.pessimistic >= self.power

    def designs_of(self, name: str, rows: Sequence[tuple[int, np.ndarray, np.ndarray, np.ndarray]]) -> list[Design]:
        """The cheapest design at each level, of the fewest tasks [G, k] for each number of allowed violations.

        ``rows``: m, betas [G], how likely a task passes, [G], and how many rollouts it takes on average, [G].
        """
        # All levels are solved at once; most of them may belong to a few rollouts only.
        levels, place = np.unique(np.concatenate([betas for _, betas, *_ in rows]), return_inverse=True)
        least = np.split(_least(self.wish, tuple(levels.tolist()))[place], len(rows))
        return [one for row, n in zip(rows, least, strict=True) for one in self._cheapest(name, *row, n)]

    def _cheapest(self, name, m: int, betas: np.ndarray, p: np.ndarray, rollouts, n: np.ndarray) -> list[Design]:
        power, unit = _powers(p[:, None], n), self.cost_per_task + rollouts
        found = []
        for g, row in enumerate(power):
            i = int(np.argmax(row >= self.power) if np.any(row >= self.power) else np.argmax(row))
            if row[i] > 0:
                given = int(n[g, i]), m, float(betas[g]), int(_ALLOWED[i])
                found.append(Design(name, *given, rollouts[g], float(n[g, i] * unit[g]), float(row[i])))
        return found

    def resized(self, design: Design, passing: float) -> Design:
        """The design with as many tasks as it needs if a task passes with this probability."""
        n = _least(self.wish, (design.level,))[0]
        enough = _powers(np.asarray([passing]), n) >= self.power
        return dataclasses.replace(design, num_tasks=int(n[np.argmax(enough)])) if np.any(enough) else design

    def final(self, design: Design) -> Design:
        """With the violations that it allows, and the largest beta that allows these, which costs nothing."""
        n, wish = design.num_tasks, self.wish
        k = most_violations(BINOMIAL, wish.safety, n, design.level, wish.delta)
        limit = 1 - safety_of(BINOMIAL, max(k, 0), n, _NO_BETA, wish.delta).astype(np.float64)
        most = np.floor((1 - limit * (1 + 2e-5) / (1 - wish.safety)) * 1e4) / 1e4  # about, and rounded down
        held = most > design.level and reaches(safety_of(BINOMIAL, k, n, most, wish.delta), wish.safety)
        return dataclasses.replace(design, num_violations=k, **({"beta": float(most)} if held else {}))


@functools.lru_cache(maxsize=64)
def _least(wish: Wish, betas: tuple[float, ...]) -> np.ndarray:
    """The fewest tasks, [G, k], for each number of allowed violations; other numbers of rollouts need the same."""
    return least_tasks(wish.safety, _ALLOWED, np.asarray(betas)[:, None], wish.delta)


def _powers(p: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The power with n tasks for each number of allowed violations; 0 where n is none."""
    return np.where(n > 0, power_of(p, np.maximum(n, 1), _ALLOWED), 0.0)


def power_of(p: Any, n: Any, k: Any) -> np.ndarray:
    """The probability that at most k of n tasks miss, if each passes with probability p; 0 for a negative k."""
    return np.where(k >= 0, on_rows(binomial_cdf, np.maximum(k, 0), n, 1.0 - np.asarray(p)).astype(np.float64), 0.0)


def doubted(share: np.ndarray, level: float = _DOUBT / _LOOKS) -> np.ndarray:
    """The lower confidence limit of the mean over tasks, from the pilot tasks' means in [0, 1], [..., n]."""
    return np.asarray(betting(share.astype(np.float32), level, support=(0.0, 1.0)), np.float64)
