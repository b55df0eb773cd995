"""Goals of plans that have a budget: the least risk at a threshold, the highest return at a safety."""

import numpy as np

from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.planning._design import Design, Option
from jaxcert.planning._goals import BETAS, DOUBT, Goal, as_row, cdf, free_beta
from jaxcert.planning._limits import most_violations, safety_of

_QUANTILES = 1024
_PILOTS = 50


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
        return float(np.quantile(self.values(again, *as_row(design, k, _PILOTS)), DOUBT))
