"""The goal of the cheapest design that certifies what is wanted."""

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from jaxcert.certificates._method import BINOMIAL
from jaxcert.planning._design import Design, Option
from jaxcert.planning._design_kind import PerTask, Question
from jaxcert.planning._goals import Goal, cdf, free_beta
from jaxcert.planning._least_tasks import MOST_TASKS, least_tasks, most_violations, reaches
from jaxcert.planning._plan_result import Reachable, Tried, reachable

# Violations that a design may allow: all small numbers, then steps of about a fifth.
_ALLOWED = np.unique(np.concatenate([np.arange(24), np.geomspace(24, 2000, 24).astype(int)]))
# Numbers of tasks to try where only data sets tell what they certify.
_SIZES = sorted({round(1.04**i) for i in range(250)})
_EXPERIMENTS = 64


class CheapestCertificate(Goal):
    """A safety at a threshold, certified with a wanted probability, at the least cost."""

    objective = "power"
    has_power = True

    def key(self, option: Option) -> tuple:
        return (not self.is_met(option), option.cost if self.is_met(option) else -option.value)

    def is_met(self, option: Option) -> bool:
        return (option.value if option.least is None else option.least) >= self.power

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
        rollouts, p = course.used.mean(axis=1), self.passing(course)
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

    def enlarged(self, option: Option, passing: float) -> Option:
        n = _least(self.question, (option.design.beta,))[0]
        power = self.of_passing(np.asarray([passing]), np.maximum(n, 1), _ALLOWED, np.asarray(option.design.beta))
        enough = (n > 0) & (power >= self.power) & self._affordable(n, option)
        if not np.any(enough):
            return option
        design = dataclasses.replace(option.design, num_tasks=int(n[np.argmax(enough)]))
        return dataclasses.replace(option, design=design)

    def larger(self, option: Option) -> list[int]:
        n = option.design.num_tasks
        most = min(2 * n, option.design.kind.joint.most_tasks if option.design.kind.joint else MOST_TASKS)
        sizes = np.asarray([size for size in _SIZES if n < size <= most])
        return sizes[self._affordable(sizes, option)].tolist()

    def _affordable(self, n: np.ndarray, option: Option) -> np.ndarray:
        cost = n * self.costs.of_task(option.rollouts_per_task)
        return cost <= (np.inf if self.costs.budget is None else self.costs.budget)

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
        ends, passed = used.reshape(-1)[chosen], self.passes(lower).reshape(-1)[chosen]
        last = np.sort(np.where(passed, ends, np.iinfo(np.int32).max), axis=1)[:, n - k - 1 : n - k]
        return float(np.mean(np.sum(self.costs.of_task(np.minimum(ends, last)), axis=1)))


@functools.lru_cache(maxsize=64)
def _least(question: Question, betas: tuple[float, ...]) -> np.ndarray:
    """The fewest tasks, [G, k], for each number of allowed violations; other numbers of rollouts need the same."""
    assert question.safety is not None
    levels = np.asarray(betas)[:, None]
    return least_tasks(question.safety, delta=question.delta, beta=levels, num_violations=_ALLOWED)
