"""What makes one design better than another: goals, which turn the course of imagined tasks into options.

This file has the goal of the cheapest wanted certificate; goals with a budget are in ``_budget_goals.py``.
"""

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._design import Costs, Design, Option
from jaxcert.planning._kind import PerTask, Question
from jaxcert.planning._limits import least_tasks, most_violations, on_rows, reaches, safety_of
from jaxcert.planning._planned import Reachable, Tried, reachable

BETAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# Violations that a design may allow: all small numbers, then steps of about a fifth.
_ALLOWED = np.unique(np.concatenate([np.arange(24), np.geomspace(24, 2000, 24).astype(int)]))
# A beta as good as none, which leaves the risk itself.
_NO_BETA = 1e-9
# Numbers of tasks to try where only data sets tell what they certify.
_SIZES = sorted({round(1.04**i) for i in range(250)})
# Pilot tasks may be luckier than tasks in general: the failure probability of a limit that allows for it.
DOUBT = 0.1
_EXPERIMENTS = 64


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
        return self.of_passing(np.mean(self._passes(lower), axis=1), n, k, betas)

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        """The objective, if a task passes with probability p."""
        raise NotImplementedError

    def _passes(self, lower: np.ndarray) -> np.ndarray:
        return lower >= np.asarray(self.question.threshold).astype(lower.dtype)

    def final(self, option: Option) -> tuple[Design, int]:
        """The design with its last touches, and k."""
        n, beta = np.asarray([option.design.num_tasks]), np.asarray([option.design.beta])
        return option.design, int(self.allowed(n, beta)[0])

    def pessimistic(self, lower: np.ndarray, design: Design, k: int, rng: np.random.Generator) -> float:
        """The objective at the lower confidence limit of the probability to pass; lower is [repeats, tasks]."""
        p = doubted(self._passes(lower).mean(axis=0))
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


class CheapestCertificate(Goal):
    """A safety at a threshold, certified with a wanted probability, at the least cost."""

    objective = "power"

    def key(self, option: Option) -> tuple:
        return (not self.is_met(option), option.cost if self.is_met(option) else -option.value)

    def is_met(self, option: Option) -> bool:
        return option.value >= self.power

    def within_reach(self, best: Option | None) -> Reachable | None:
        if best is not None and self.is_met(best):
            return None
        return reachable(self.tried, self.costs, self.power, self.question.delta)

    def cost_to_beat(self, option: Option) -> float:
        return option.cost if self.is_met(option) else math.inf

    def options_of(
        self, name: str, rollouts: list[int], betas: list[np.ndarray], courses: list[PerTask]
    ) -> list[list[Option]]:
        # All levels are solved at once; most of them may belong to a few rollouts only.
        levels, place = np.unique(np.concatenate(betas), return_inverse=True)
        least = np.split(_least(self.question, tuple(levels.tolist()))[place], len(betas))
        rows = zip(rollouts, betas, courses, least, strict=True)
        return [self._cheapest(name, *row) for row in rows]

    def _cheapest(self, name: str, m: int, betas: np.ndarray, course: PerTask, n: np.ndarray) -> list[Option]:
        """The cheapest option at each level, of the fewest tasks [G, k] for each number of allowed violations."""
        rollouts, p = course.used.mean(axis=1), np.mean(self._passes(course.lower), axis=1)
        self.tried.append(Tried(name, m, betas, p, rollouts))
        unit = self.costs.of_task(rollouts)
        power = np.where(n > 0, self.of_passing(p[:, None], np.maximum(n, 1), _ALLOWED, betas), 0.0)
        if self.costs.budget is not None:
            power = np.where(n * unit[:, None] <= self.costs.budget, power, 0.0)
        found = []
        for g, row in enumerate(power):
            i = int(np.argmax(row >= self.power) if np.any(row >= self.power) else np.argmax(row))
            if row[i] > 0:
                design = Design(name, int(n[g, i]), m, float(betas[g]))
                cost = float(n[g, i] * unit[g])
                found.append(Option(design, int(_ALLOWED[i]), rollouts[g], cost, float(row[i])))
        return found

    def of_passing(self, p: np.ndarray, n: np.ndarray, k: np.ndarray, betas: np.ndarray) -> np.ndarray:
        return np.where(k >= 0, cdf(np.maximum(k, 0), n, 1.0 - p), 0.0)

    def allowed(self, n: np.ndarray, betas: np.ndarray) -> np.ndarray:
        return most_violations(BINOMIAL, self.question.safety, n, betas, self.question.delta)

    def final(self, option: Option) -> tuple[Design, int]:
        """The design with the largest beta that allows as many violations, which costs nothing; and k."""
        design, k = super().final(option)
        most = free_beta(self.question, design.num_tasks, max(k, 0))
        held = reaches(BINOMIAL, self.question.safety, k, design.num_tasks, most, self.question.delta)
        return dataclasses.replace(design, beta=float(most)) if most > design.beta and held else design, k

    def of_safeties(self, safety: np.ndarray) -> np.ndarray:
        return np.mean(safety >= self.question.safety, axis=-1)

    def tasks(self, value: Callable[[int], float], most: int) -> int:
        """The fewest, up to a few per cent, that reach the power; if none do, all that the budget allows."""
        reached = value(most)
        if reached < self.power:
            return most if reached > 0 and self.costs.budget is not None else 0
        # The same numbers for all designs, most of which are then known already.
        sizes = [n for n in _SIZES if n < most]
        place = bisect.bisect_left(sizes, self.power, key=value)
        return sizes[place] if place < len(sizes) else most

    def until_reached(
        self, lower: np.ndarray, used: np.ndarray, design: Design, k: int, rng: np.random.Generator
    ) -> float | None:
        """Tasks take turns, each until it passes or is given up, and all stop once n - k have passed."""
        n = design.num_tasks
        chosen = rng.integers(lower.size, size=(_EXPERIMENTS, n))
        ends, passed = used.reshape(-1)[chosen], self._passes(lower).reshape(-1)[chosen]
        last = np.sort(np.where(passed, ends, np.iinfo(np.int32).max), axis=1)[:, n - k - 1 : n - k]
        return float(np.mean(np.sum(self.costs.of_task(np.minimum(ends, last)), axis=1)))


def free_beta(question: Question, n: int, k: np.ndarray | int) -> np.ndarray:
    """About the largest beta with which k violations of n still certify the safety, rounded down."""
    assert question.safety is not None
    limit = 1 - safety_of(BINOMIAL, k, n, _NO_BETA, question.delta).astype(np.float64)
    return np.floor((1 - limit * (1 + 2e-5) / (1 - question.safety)) * 1e4) / 1e4


@functools.lru_cache(maxsize=64)
def _least(question: Question, betas: tuple[float, ...]) -> np.ndarray:
    """The fewest tasks, [G, k], for each number of allowed violations; other numbers of rollouts need the same."""
    assert question.safety is not None
    levels = np.asarray(betas)[:, None]
    return least_tasks(question.safety, delta=question.delta, beta=levels, num_violations=_ALLOWED)


def doubted(share: np.ndarray) -> float:
    """The lower confidence limit of the mean over tasks, from the pilot tasks' means in [0, 1]."""
    return float(betting(share.astype(np.float32), DOUBT, support=(0.0, 1.0)))


def cdf(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    return on_rows(binomial_cdf, k, n, p).astype(np.float64)


def as_row(design: Design, k: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n, k and beta as the goals take them."""
    return np.full(size, design.num_tasks), np.full(size, k), np.full(size, design.beta)
