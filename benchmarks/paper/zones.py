"""Zones: the shipped policy, certified at the three budgets of the paper (figure 4d).

The policy acts by samples. delta = 0.01, seeds fixed beforehand, each with its own tasks, of which the smaller budgets
take the first; mean and one standard deviation over seeds. In place of the exact safety there is that of an independent
set of tasks. After the curves: the policy's success, and adaptive rollouts. At full size half an hour on two cores.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.paper.curves import DELTA, SEEDS, THRESHOLDS, Curve, adaptive, by_budget, drawn, empirical, findings
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert import certify
from jaxcert.bounds import betting
from jaxcert.tasks import zones

EVALUATION_SEED = 1000


class Size(NamedTuple):
    """Of a run: budgets (n, m), the largest last; seeds, each with its own tasks; (n, m) of the evaluation set."""

    budgets: tuple[tuple[int, int], ...]
    seeds: range
    evaluation: tuple[int, int]


PAPER = Size(((50, 100), (100, 300), (200, 1000)), SEEDS, (2000, 250))
SMALL = Size(((50, 100), (100, 300)), SEEDS[:3], (500, 100))
NEWER: dict[str, dict[str, Any]] = {
    "binomial, beta from the data": {"bound": "clopper_pearson", "beta": "auto"},
    "soft counts": {"method": "soft"},
}
ADAPTIVE = (0.7, 0.8, 0.9)


def returns_of(seed: int, num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Successes on fresh tasks, [n, m]."""
    return drawn(zones.ENV, zones.policy(), seed, num_tasks, num_rollouts)


def panels(size: Size, means: np.ndarray) -> Iterator[list[Curve]]:
    """One panel per budget; the smaller ones use the first tasks and rollouts of the largest.

    The means are the mean returns of the evaluation set.
    """
    returns = np.stack([returns_of(seed, *size.budgets[-1]) for seed in size.seeds])
    return by_budget(returns, size.budgets, empirical(means[None, :, None])[0], more=_newer)


def _newer(returns: np.ndarray) -> dict[str, np.ndarray]:
    def safety(settings: dict[str, Any]) -> np.ndarray:
        found = (certify(one, THRESHOLDS, support=(0, 1), delta=DELTA, **settings) for one in returns)
        return np.stack([np.asarray(one.safety) for one in found])

    return {name: safety(settings) for name, settings in NEWER.items()}


def success(means: np.ndarray) -> str:
    """The mean over tasks with its lower bound, from the independent means of tasks."""
    lower = float(betting(means, DELTA, support=(0, 1)))
    return (
        f"success {means.mean():.4f}, with confidence {1 - DELTA:g} at least {lower:.4f}; worst task {means.min():.3f}"
    )


def run(full: bool) -> Findings:
    """The curves, then what else is measured."""
    size = PAPER if full else SMALL
    means = returns_of(EVALUATION_SEED, *size.evaluation).mean(axis=1)
    policy = zones.policy()
    few = adaptive(zones.ENV, policy, ADAPTIVE, size.seeds, size.budgets[-1])
    return findings(panels(size, means), [success(means), *few])


EXPERIMENT = Experiment("zones", "figure 4d, the learned policy for zones beside independent tasks", run)
