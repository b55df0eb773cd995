"""Goals: they turn the results of simulated tasks into designs, and rank these.

This file has the goals that have a budget: the least risk at a threshold, the highest return at a safety. The goal of
the cheapest wanted certificate is in ``_cheapest.py``.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._designs import PerTask, Wish
from jaxcert.planning._least_tasks import MOST_TASKS, most_violations, on_rows, safety_of
from jaxcert.planning._plan import Costs, Design

BETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# A negligible beta: the tasks' own risk remains.
_NO_BETA = 1e-9
# Pilot tasks may be luckier than tasks in general: the failure probability of the limits that allow for it. By these
# limits the cheapest of many similar designs is chosen, which counts as a choice from this number of unrelated ones.
_DOUBT, _LOOKS = 0.1, 3
_QUANTILES, _PILOTS = 1024, 50


@dataclasses.dataclass(frozen=True)
class Goal:
    """The base of all goals; ``lower`` are lower bounds of simulated tasks, [G, N], and n, k and beta are [G].

    ``doubted`` is the number of pilot tasks if these are taken to be luckier than tasks in general. ``tried`` holds
    (name, m, betas, passing, rollouts) where a wanted safety may turn out to be out of reach.
    """

    wish: Wish
    costs: Costs
    power: float
    doubted: int | None = None
    tried: list[tuple[Any, ...]] = dataclasses.field(default_factory=list, compare=False)

    objective = ""
    sign = 1
    has_power = False

    def betas(self, m: int, around: Design | None) -> np.ndarray:
        """Twelve levels to try with this number of rollouts, over the whole range or around the level of a design."""
        if around is None:
            return np.asarray(BETAS)
        place = np.searchsorted(BETAS, around.level)
        ends = BETAS[max(place - 1, 0)], BETAS[min(place + 1, len(BETAS) - 1)]
        return np.round(np.linspace(*ends, len(BETAS)), 4)

    def key(self, design: Design) -> tuple:
        """Sorts designs, best first."""
        return (self.sign * design.value, design.cost)

    def is_met(self, design: Design) -> bool:
        """Whether the design reaches the goal."""
        return True

    def holds(self, design: Design) -> bool:
        """Whether it does so even if the pilot tasks were luckier than tasks in general."""
        return True

    def doubting(self, num_tasks: int) -> "Goal":
        """The goal under the assumption that this many pilot tasks were luckier than tasks in general."""
        return dataclasses.replace(self, doubted=num_tasks, tried=[])

    def designs_of(self, name: str, rows: Iterable[tuple[int, np.ndarray, PerTask]]) -> list[Design]:
        """The best design at each level, for rows of rollouts, levels and tasks: as many tasks as the budget allows."""
        found = []
        for m, betas, course in rows:
            rollouts = course.used.mean(axis=1)
            unit = self.costs.of_task(rollouts)
            n = self.costs.tasks(unit, MOST_TASKS)
            if np.any(kept := n >= 1):
                values = np.full(n.shape, np.nan)
                course, each, levels = PerTask(course.lower[kept], course.used[kept]), n[kept], betas[kept]
                values[kept] = self.values(course, each, self.allowed(each, levels), levels)
                found += [
                    Design(name, int(n[g]), m, float(betas[g]), None, rollouts[g], float(n[g] * unit[g]), values[g])
                    for g in np.flatnonzero(kept)
                ]
        return found

    def allowed(self, n: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The most violations with which the safety is certified; 0 where none is wanted."""
        if self.wish.safety is None:
            return np.zeros_like(n)
        return most_violations(BINOMIAL, self.wish.safety, n, betas, self.wish.delta)

    def values(self, course: PerTask, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The objective, [G]."""
        return self.of_passing(self.passing(course), n, k, betas)

    def passing(self, course: PerTask) -> np.ndarray:
        """The probability that a task passes, [G]; where pilot tasks are doubted, its lower confidence limit."""
        passes = self.passes(course.lower)
        if self.doubted:
            return doubted(passes.reshape(len(passes), -1, self.doubted).mean(axis=1))
        return np.mean(passes, axis=1) if course.passing is None else course.passing

    def passes(self, lower: np.ndarray) -> np.ndarray:
        """Whether tasks pass the threshold."""
        return lower >= np.asarray(self.wish.threshold).astype(lower.dtype)

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The objective, if a task passes with probability p."""
        raise NotImplementedError

    def resized(self, design: Design, passing: float, used: float) -> Design:
        """The design with as many tasks as the goal needs, if a task passes with this probability and takes this many
        rollouts.
        """
        most = int(self.costs.tasks(self.costs.of_task(used), design.num_tasks))
        return dataclasses.replace(design, num_tasks=max(most, 1))

    def final(self, design: Design) -> Design:
        """The design with its last touches, and the violations that it allows."""
        k = self.allowed(np.asarray([design.num_tasks]), np.asarray([design.beta]))
        return dataclasses.replace(design, num_violations=int(k[0]))

    def pessimistic(self, course: PerTask, design: Design, num_tasks: int, rng: np.random.Generator) -> float:
        """The objective if this many pilot tasks were luckier than tasks in general."""
        return float(self.doubting(num_tasks).values(course, *as_row(design))[0])


class LeastRisk(Goal):
    """The least expected risk at a threshold, from a budget."""

    objective = "expected epsilon"

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        p, n, betas = np.broadcast_arrays(p, n, betas)
        # Values beyond eight standard deviations do not affect a mean.
        around = min(int(8 * np.sqrt(np.max(n * p * (1 - p)))) + 20, int(n.max()))
        middle = (n * (1 - p)).astype(int)[:, None]
        violations = np.clip(middle + np.arange(-around, around + 1), 0, n[:, None])
        below = cdf(violations, n[:, None], 1.0 - p[:, None])
        chance = np.diff(below, axis=1, prepend=0.0)
        risk = 1 - safety_of(BINOMIAL, violations, n[:, None], betas[:, None], self.wish.delta)
        return np.sum(chance * risk, axis=1)


class HighestReturn(Goal):
    """The highest expected return certified at a safety, from a budget."""

    objective = "expected certified return"
    sign = -1

    def betas(self, m: int, around: Design | None) -> np.ndarray:
        """The largest levels for 0, 1, ... violations; levels between them certify no more."""
        n, size = int(self.costs.tasks(self.costs.of_task(m), MOST_TASKS)), len(BETAS)
        levels = free_beta(self.wish, n, np.arange(n)) if n else np.zeros(0)
        levels = levels[levels > 1e-4]
        if not levels.size:
            return np.asarray(BETAS)
        if around is None:
            return levels[np.linspace(0, levels.size - 1, size).round().astype(int)]
        place = int(np.argmin(np.abs(levels - around.level)))
        return levels[np.clip(np.arange(size) + place - size // 2, 0, levels.size - 1)]

    def values(self, course: PerTask, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The mean of the (k + 1)-th smallest of n lower bounds; the lower end of the support if there is no k."""
        ordered = np.sort(course.lower, axis=1)
        edges = np.linspace(0, 1, _QUANTILES + 1)
        # P[the (k+1)-th smallest lies above this quantile] = P[at most k of n lie below it].
        above = cdf(np.maximum(k, 0)[:, None], n[:, None], edges)
        middles = ordered[:, ((edges[1:] + edges[:-1]) / 2 * ordered.shape[1]).astype(int)].astype(np.float64)
        return np.where(k >= 0, np.sum(-np.diff(above) * middles, axis=1), self.wish.support[0])

    def pessimistic(self, course: PerTask, design: Design, num_tasks: int, rng: np.random.Generator) -> float:
        """The tenth percentile over resampled pilots."""
        lower = course.lower.reshape(-1, num_tasks)
        chosen = rng.integers(num_tasks, size=(_PILOTS, num_tasks))
        repeats = max(8, -(-_QUANTILES // num_tasks))
        again = np.moveaxis(lower[:repeats, chosen], 1, 0).reshape(_PILOTS, -1)
        return float(np.quantile(self.values(PerTask(again, again), *as_row(design, _PILOTS)), _DOUBT))


def free_beta(wish: Wish, n: int, k: np.ndarray | int) -> np.ndarray:
    """About the largest beta with which k violations of n still certify the safety, rounded down."""
    assert wish.safety is not None
    limit = 1 - safety_of(BINOMIAL, k, n, _NO_BETA, wish.delta).astype(np.float64)
    return np.floor((1 - limit * (1 + 2e-5) / (1 - wish.safety)) * 1e4) / 1e4


def doubted(share: np.ndarray, level: float = _DOUBT / _LOOKS) -> np.ndarray:
    """The lower confidence limit of the mean over tasks, from the pilot tasks' means in [0, 1], [..., n]."""
    return np.asarray(betting(share.astype(np.float32), level, support=(0.0, 1.0)), np.float64)


def cdf(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return on_rows(binomial_cdf, k, n, p).astype(np.float64)


def as_row(design: Design, size: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n, k and beta as the goals take them."""
    return np.full(size, design.num_tasks), np.full(size, design.num_violations), np.full(size, design.beta)
