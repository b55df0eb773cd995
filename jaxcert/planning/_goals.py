"""What makes one design better than another: goals, which turn the course of imagined tasks into options.

This file has the goals that have a budget: the least risk at a threshold, the highest return at a safety. The goal of
the cheapest wanted certificate is in ``_cheapest.py``.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._design import Costs, Design, Option
from jaxcert.planning._design_kind import PerTask, Question
from jaxcert.planning._least_tasks import most_violations, on_rows, safety_of
from jaxcert.planning._plan_result import Reachable, Tried

BETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# A beta as good as none, which leaves the risk itself.
_NO_BETA = 1e-9
# Pilot tasks may be luckier than tasks in general: the failure probability of a limit that allows for it.
_DOUBT = 0.1
_QUANTILES = 1024
_PILOTS = 50


@dataclasses.dataclass(frozen=True)
class Goal:
    """What all goals have; ``lower`` are lower bounds of imagined tasks, [G, N], and n, k and beta are [G].

    ``tried`` is filled where a wanted safety may turn out to be out of reach.
    """

    question: Question
    costs: Costs
    power: float
    tried: list[Tried] = dataclasses.field(default_factory=list, compare=False)

    objective = ""
    larger_is_better = True
    has_power = False

    def betas(self, m: int, around: Option | None) -> np.ndarray:
        """Twelve levels to try with so many rollouts, in all of their range or around the level of an option."""
        if around is None:
            return np.asarray(BETAS)
        place = np.searchsorted(BETAS, around.design.beta)
        ends = BETAS[max(place - 1, 0)], BETAS[min(place + 1, len(BETAS) - 1)]
        return np.round(np.linspace(*ends, len(BETAS)), 4)

    def key(self, option: Option) -> tuple:
        """Sorts options, best first."""
        return (-option.value if self.larger_is_better else option.value, option.cost)

    def is_met(self, option: Option) -> bool:
        """Whether the option does what is wanted."""
        return True

    def within_reach(self, best: Option | None) -> Reachable | None:
        """What can be certified where the best option does not do what is wanted."""
        return None

    def cost_to_beat(self, option: Option) -> float:
        """What others have to be cheaper than, if that is what makes them better."""
        return math.inf

    def options_of(
        self, name: str, rollouts: list[int], betas: list[np.ndarray], courses: list[PerTask]
    ) -> list[list[Option]]:
        """The best option at each level, for each number of rollouts."""
        return [self.options(name, *row) for row in zip(rollouts, betas, courses, strict=True)]

    def options(self, name: str, m: int, betas: np.ndarray, course: PerTask) -> list[Option]:
        """The best option at each level: as many tasks as the budget allows."""
        assert self.costs.budget is not None
        rollouts = course.used.mean(axis=1)
        unit = self.costs.of_task(rollouts)
        n = np.minimum(self.costs.budget / unit * (1 + 1e-9), 10**6).astype(int)
        kept = np.flatnonzero(n >= 1)
        if not kept.size:
            return []
        n, k = n[kept], self.allowed(n[kept], betas[kept])
        values = self.values(course.lower[kept], n, k, betas[kept])
        return [
            Option(Design(name, int(n[i]), m, float(betas[g])), None, rollouts[g], float(n[i] * unit[g]), values[i])
            for i, g in enumerate(kept)
        ]

    def allowed(self, n: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """k, where the goal has one."""
        return np.zeros_like(n)

    def values(self, lower: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The objective, [G]."""
        return self.of_passing(np.mean(self.passes(lower), axis=1), n, k, betas)

    def passing(self, course: PerTask) -> np.ndarray:
        """The probability that a task passes, [G]."""
        return np.mean(self.passes(course.lower), axis=1) if course.passing is None else course.passing

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The objective, if a task passes with probability p."""
        raise NotImplementedError

    def passes(self, lower: np.ndarray) -> np.ndarray:
        """Whether tasks pass the threshold."""
        return lower >= np.asarray(self.question.threshold).astype(lower.dtype)

    def enlarged(self, option: Option, passing: float) -> Option:
        """With as many tasks as the goal needs if one passes with that probability."""
        return option

    def larger(self, option: Option) -> list[int]:
        """Numbers of tasks to try in its place, where the goal is one that more of them reach."""
        return []

    def final(self, option: Option) -> tuple[Design, int]:
        """The design with its last touches, and k."""
        n, beta = np.asarray([option.design.num_tasks]), np.asarray([option.design.beta])
        return option.design, int(self.allowed(n, beta)[0])

    def pessimistic(self, lower: np.ndarray, design: Design, k: int, rng: np.random.Generator) -> float:
        """The objective at the lower confidence limit of the probability to pass; lower is [repeats, tasks]."""
        p = doubted(self.passes(lower).mean(axis=0))
        return float(self.of_passing(np.asarray([p]), *as_row(design, k, 1))[0])

    def until_reached(
        self, lower: np.ndarray, used: np.ndarray, design: Design, k: int, rng: np.random.Generator
    ) -> float | None:
        """Expected cost up to the moment when the wanted certificate is reached; None without such a moment."""
        return None

    def of_safeties(self, safety: np.ndarray) -> np.ndarray:
        """The objective, from what imagined data sets certify, [P, R] to [P]."""
        raise NotImplementedError

    def tasks(self, value: Callable[[int], float], most: int) -> int:
        """The n that is best where a design with n tasks has that value; 0 for none."""
        return most


class LeastRisk(Goal):
    """The least expected risk at a threshold, from a budget."""

    objective = "expected epsilon"
    larger_is_better = False

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        p, n, betas = np.broadcast_arrays(p, n, betas)
        # What lies beyond eight standard deviations does not matter to a mean.
        around = min(int(8 * np.sqrt(np.max(n * p * (1 - p)))) + 20, int(n.max()))
        middle = (n * (1 - p)).astype(int)[:, None]
        violations = np.clip(middle + np.arange(-around, around + 1), 0, n[:, None])
        below = cdf(violations, n[:, None], 1.0 - p[:, None])
        chance = np.diff(below, axis=1, prepend=0.0)
        risk = 1 - safety_of(BINOMIAL, violations, n[:, None], betas[:, None], self.question.delta)
        return np.sum(chance * risk, axis=1)

    def of_safeties(self, safety: np.ndarray) -> np.ndarray:
        return np.mean(1 - safety.astype(np.float64), axis=-1)


class HighestReturn(Goal):
    """The highest expected return certified at a safety, from a budget."""

    objective = "expected certified return"

    def betas(self, m: int, around: Option | None) -> np.ndarray:
        """The largest levels for 0, 1, ... violations, since those between certify no more."""
        assert self.costs.budget is not None
        n = int(min(self.costs.budget / self.costs.of_task(np.asarray(m)) * (1 + 1e-9), 10**6))
        if n < 1:
            return np.asarray(BETAS)
        levels = free_beta(self.question, n, np.arange(n))
        levels = levels[levels > 1e-4]
        if not levels.size:
            return np.asarray(BETAS)
        size = len(BETAS)
        if around is None:
            return levels[np.linspace(0, levels.size - 1, size).round().astype(int)]
        place = int(np.argmin(np.abs(levels - around.design.beta)))
        return levels[np.clip(np.arange(size) + place - size // 2, 0, levels.size - 1)]

    def allowed(self, n: np.ndarray, betas: np.ndarray) -> np.ndarray:
        return most_violations(BINOMIAL, self.question.safety, n, betas, self.question.delta)

    def values(self, lower: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The mean of the (k + 1)-th smallest of n lower bounds; the lower end of the support if there is no k."""
        ordered = np.sort(lower, axis=1)
        edges = np.linspace(0, 1, _QUANTILES + 1)
        # P[the (k+1)-th smallest lies above this quantile] = P[at most k of n lie below it].
        above = cdf(np.maximum(k, 0)[:, None], n[:, None], edges)
        middles = ordered[:, ((edges[1:] + edges[:-1]) / 2 * ordered.shape[1]).astype(int)].astype(np.float64)
        return np.where(k >= 0, np.sum(-np.diff(above) * middles, axis=1), self.question.support[0])

    def pessimistic(self, lower: np.ndarray, design: Design, k: int, rng: np.random.Generator) -> float:
        """The tenth percentile over resampled pilots."""
        num_tasks = lower.shape[1]
        chosen = rng.integers(num_tasks, size=(_PILOTS, num_tasks))
        repeats = max(8, -(-_QUANTILES // num_tasks))
        again = np.moveaxis(lower[:repeats, chosen], 1, 0).reshape(_PILOTS, -1)
        return float(np.quantile(self.values(again, *as_row(design, k, _PILOTS)), _DOUBT))


def free_beta(question: Question, n: int, k: np.ndarray | int) -> np.ndarray:
    """About the largest beta with which k violations of n still certify the safety, rounded down."""
    assert question.safety is not None
    limit = 1 - safety_of(BINOMIAL, k, n, _NO_BETA, question.delta).astype(np.float64)
    return np.floor((1 - limit * (1 + 2e-5) / (1 - question.safety)) * 1e4) / 1e4


def doubted(share: np.ndarray) -> float:
    """The lower confidence limit of the mean over tasks, from the pilot tasks' means in [0, 1]."""
    return float(betting(share.astype(np.float32), _DOUBT, support=(0.0, 1.0)))


def cdf(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return on_rows(binomial_cdf, k, n, p).astype(np.float64)


def as_row(design: Design, k: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n, k and beta as the goals take them."""
    return np.full(size, design.num_tasks), np.full(size, k), np.full(size, design.beta)
