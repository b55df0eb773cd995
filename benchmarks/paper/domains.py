"""The domains of the paper's appendix: returns of 200 tasks, and what was fixed before they were seen.

Of the robots the sample returns, which end at 100 rollouts per task (walker 90); of the others episodes of the shipped
policies. Smaller numbers of tasks and rollouts take the first of ten random orders.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import jaxcert
from benchmarks.paper.curves import SEEDS, drawn, empirical
from jaxcert.rollouts import MultiTaskEnv, Policy
from jaxcert.tasks import bridge_world, simple_grid, zones

NUM_TASKS, NUM_THRESHOLDS = 200, 51
# The threshold of each domain that statements about a single one use.
ROBOTS = {"cheetah": 500.0, "walker": 600.0}
DISCRETE = {"illustrative grid": 0.7, "BridgeWorld, left": 0.5, "BridgeWorld, right": 0.7, "zones": 0.8}


class Domain(NamedTuple):
    """Returns [n, m], their support, and a threshold fixed beforehand."""

    returns: np.ndarray
    support: tuple[float, float]
    threshold: float

    @property
    def binary(self) -> bool:
        """Whether every return is 0 or 1."""
        return self.support == (0.0, 1.0)

    @property
    def unit(self) -> str:
        """What a threshold is."""
        return "success rate" if self.binary else "expected return"

    @property
    def performances(self) -> np.ndarray:
        """The mean returns of tasks, in increasing order."""
        return np.sort(self.returns.mean(axis=1))

    @property
    def thresholds(self) -> np.ndarray:
        """Of a curve, [t]: the whole support."""
        return np.linspace(*self.support, NUM_THRESHOLDS)

    @property
    def share(self) -> np.ndarray:
        """The share of all tasks whose mean return is at least each threshold, [t]; not a certificate."""
        return empirical(self.returns[None], self.thresholds)[0]

    def rows(self, name: str, budget: tuple[int, int], curves: Iterable[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
        """Curves of a figure, a row per threshold, with the share of all tasks."""
        for numbers in zip(self.thresholds, self.share, *curves, strict=True):
            yield name, *budget, *(each if each == "" else float(each) for each in numbers)

    def draw(self, axes: Any, name: str, budget: tuple[int, int], curves: Iterable[tuple[np.ndarray, Any]]) -> None:
        """The share of all tasks, and curves with their styles."""
        axes.plot(self.thresholds, self.share, color="black", linewidth=1, label="share of all tasks, not certified")
        for y, style in curves:
            axes.plot(self.thresholds, y, **style)
        axes.set_title("{}, n = {}, m = {}".format(name, *budget), fontsize=9)
        axes.set_xlabel(f"threshold B, {self.unit}", fontsize=9)

    def first_of(self, budget: tuple[int, int]) -> tuple[int, int]:
        """The budget (n, m), cut to the returns that there are."""
        return min(budget[0], self.returns.shape[0]), min(budget[1], self.returns.shape[1])


def domain(name: str, num_rollouts: int) -> Domain:
    """One domain, with that many rollouts per task where there are so many."""
    if name in ROBOTS:
        return Domain(jaxcert.sample_returns(name)[:, :num_rollouts], (0.0, 1000.0), ROBOTS[name])
    return Domain(_collected(name, NUM_TASKS, num_rollouts), (0.0, 1.0), DISCRETE[name])


@functools.cache
def _collected(name: str, num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Kept, since experiments that run one after another take the same."""
    return drawn(*_made(name), 0, num_tasks, num_rollouts)


def _made(name: str) -> tuple[MultiTaskEnv, Policy]:
    if name == "illustrative grid":
        return simple_grid.ENV, simple_grid.POLICY
    if name == "zones":
        return zones.ENV, zones.policy()
    actions = bridge_world.left_policy() if name == "BridgeWorld, left" else bridge_world.right_policy()
    return bridge_world.ENV, bridge_world.table_policy(actions)


def orders(returns: np.ndarray) -> np.ndarray:
    """The returns with tasks, and the rollouts of each, in random orders, [seeds, n, m]."""
    drawn = [np.random.default_rng(seed) for seed in SEEDS]
    return np.stack([rng.permuted(rng.permutation(returns), axis=1) for rng in drawn])
