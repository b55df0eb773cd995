"""The goal of the cheapest design that certifies what is wanted."""

import dataclasses
import functools
from collections.abc import Iterable

import numpy as np

from jaxcert.certificates._method import BINOMIAL
from jaxcert.planning._designs import PerTask, Wish
from jaxcert.planning._goals import Goal, cdf, free_beta
from jaxcert.planning._least_tasks import least_tasks, reaches
from jaxcert.planning._plan import Design

# Violations that a design may allow: all small numbers, then steps of about a fifth.
_ALLOWED = np.unique(np.concatenate([np.arange(24), np.geomspace(24, 2000, 24).astype(int)]))


class CheapestCertificate(Goal):
    """A safety at a threshold, certified with a wanted probability, at the least cost."""

    objective = "power"
    sign = -1
    has_power = True

    def key(self, design: Design) -> tuple:
        met = self.is_met(design)
        return (not met, not self.holds(design), design.cost if met else -design.value)

    def is_met(self, design: Design) -> bool:
        return design.surely >= self.power

    def holds(self, design: Design) -> bool:
        """Whether it still does if the pilot tasks were luckier than tasks in general, as far as that is known."""
        return design.pessimistic is None or design.pessimistic >= self.power

    def designs_of(self, name: str, rows: Iterable[tuple[int, np.ndarray, PerTask]]) -> list[Design]:
        """The cheapest design at each level, of the fewest tasks [G, k] for each number of allowed violations."""
        rows = list(rows)
        # All levels are solved at once; most of them may belong to a few rollouts only.
        levels, place = np.unique(np.concatenate([betas for _, betas, _ in rows]), return_inverse=True)
        least = np.split(_least(self.wish, tuple(levels.tolist()))[place], len(rows))
        return [one for row, n in zip(rows, least, strict=True) for one in self._cheapest(name, *row, n)]

    def _cheapest(self, name: str, m: int, betas: np.ndarray, course: PerTask, n: np.ndarray) -> list[Design]:
        rollouts, p = course.used.mean(axis=1), self.passing(course)
        self.tried.append((name, m, betas, p, rollouts))
        unit = self.costs.of_task(rollouts)
        power = self._powers(p[:, None], n, betas[:, None], unit[:, None])
        found = []
        for g, row in enumerate(power):
            i = int(np.argmax(row >= self.power) if np.any(row >= self.power) else np.argmax(row))
            if row[i] > 0:
                given = int(n[g, i]), m, float(betas[g]), int(_ALLOWED[i])
                found.append(Design(name, *given, rollouts[g], float(n[g, i] * unit[g]), float(row[i])))
        return found

    def _powers(self, p: np.ndarray, n: np.ndarray, betas: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """The power with n tasks for each number of allowed violations; 0 where n is none or costs too much."""
        power = np.where(n > 0, self.of_passing(p, np.maximum(n, 1), _ALLOWED, betas), 0.0)
        return power if self.costs.budget is None else np.where(n * unit <= self.costs.budget, power, 0.0)

    def resized(self, design: Design, passing: float, used: float) -> Design:
        n, beta = _least(self.wish, (design.level,))[0], np.asarray(design.beta)
        enough = (
            self._powers(np.asarray([passing]), n, beta, self.costs.of_task(design.rollouts_per_task)) >= self.power
        )
        return dataclasses.replace(design, num_tasks=int(n[np.argmax(enough)])) if np.any(enough) else design

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        return np.where(k >= 0, cdf(np.maximum(k, 0), n, 1.0 - p), 0.0)

    def final(self, design: Design) -> Design:
        """With the largest beta that allows this number of violations, which costs nothing."""
        design = super().final(design)
        n, k = design.num_tasks, design.num_violations
        assert k is not None
        most = free_beta(self.wish, n, max(k, 0))
        held = reaches(BINOMIAL, self.wish.safety, k, n, most, self.wish.delta)
        return dataclasses.replace(design, beta=float(most)) if most > design.beta and held else design


@functools.lru_cache(maxsize=64)
def _least(wish: Wish, betas: tuple[float, ...]) -> np.ndarray:
    """The fewest tasks, [G, k], for each number of allowed violations; other numbers of rollouts need the same."""
    assert wish.safety is not None
    levels = np.asarray(betas)[:, None]
    return least_tasks(wish.safety, _ALLOWED, levels, wish.delta)
