"""Cheetah and walker: the paper's three budgets (figures 4b and 4c).

From the sample returns: ten orders of tasks and rollouts, of which a budget takes the first; in place of the exact
safety there is that of the whole sample. delta = 0.01, empirical Bernstein for the paper.
"""

from collections.abc import Iterator, Sequence

import numpy as np

import jaxcert
from benchmarks.paper.curves import (
    DEFAULT_BETA,
    PAPER_BETA,
    Curve,
    Ways,
    certificates,
    empirical,
    findings,
    panel,
)
from benchmarks.paper.domains import ROBOTS, orders
from benchmarks.paper.experiment import Experiment, Findings

SUPPORT, THRESHOLDS = (0.0, 1000.0), np.linspace(0, 1000, 101)
# The last size is cut to that of the sample.
SAMPLE_BUDGETS = ((50, 100), (100, 100), (200, 100))

WAYS: Ways = {
    f"empirical Bernstein, scenario, beta {PAPER_BETA:g} (the paper)": ("empirical_bernstein", "scenario", PAPER_BETA),
    f"empirical Bernstein, binomial, beta {DEFAULT_BETA:g}": ("empirical_bernstein", "binomial", DEFAULT_BETA),
    f"betting, binomial, beta {DEFAULT_BETA:g} (default)": ("betting", "binomial", DEFAULT_BETA),
}


def panels(
    robot: str, returns: np.ndarray, budgets: Sequence[tuple[int, int]], exact: np.ndarray
) -> Iterator[list[Curve]]:
    found = certificates(returns, budgets, WAYS, THRESHOLDS, SUPPORT)
    for (n, m), certified in zip(budgets, found, strict=True):
        yield panel(f"{robot}, n = {n}, m = {m}", returns[:, :n, :m], certified, exact, THRESHOLDS)


def run(full: bool) -> Findings:
    """At the size of the samples in any case, which takes seconds."""
    found = []
    for robot in ROBOTS:
        returns = orders(jaxcert.sample_returns(robot))
        budgets = [(n, min(m, returns.shape[2])) for n, m in SAMPLE_BUDGETS]
        found += panels(robot, returns, budgets, empirical(returns[:1], THRESHOLDS)[0])
    return findings(found)


EXPERIMENT = Experiment("robots", "figures 4b and 4c, cheetah and walker, from the sample returns", run)
