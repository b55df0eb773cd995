"""Cheetah and walker: the paper's three budgets (figures 4b and 4c).

From the sample returns: ten orders of tasks and rollouts, of which a budget takes the first; in place of the exact
safety there is that of the whole sample. delta = 0.01, empirical Bernstein for the paper.
"""

from collections.abc import Iterator, Sequence

import numpy as np

import jaxcert
from benchmarks.paper.curves import (
    DEFAULT_BETA,
    DELTA,
    PAPER_BETA,
    Curve,
    Ways,
    certificates,
    empirical,
    findings,
    panel,
)
from benchmarks.paper.domains import orders
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert import certify_sequential

SUPPORT, THRESHOLDS = (0.0, 1000.0), np.linspace(0, 1000, 101)
# The last size is cut to that of the sample.
SAMPLE_BUDGETS = ((50, 100), (100, 100), (200, 100))
FEW = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}

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
    found, lines = [], []
    for robot, thresholds in FEW.items():
        returns = orders(jaxcert.sample_returns(robot))
        budgets = [(n, min(m, returns.shape[2])) for n, m in SAMPLE_BUDGETS]
        found += panels(robot, returns, budgets, empirical(returns[:1], THRESHOLDS)[0])
        lines += sequential(robot, returns, thresholds)
    return findings(found, lines)


def sequential(robot: str, returns: np.ndarray, thresholds: Sequence[float]) -> Iterator[str]:
    """What as many of the recorded rollouts certify as each task needs; a line per threshold."""
    found = certify_sequential(returns, thresholds, support=SUPPORT, delta=DELTA)
    spent = np.mean(found.num_rollouts_used, axis=(0, 1))
    for b, safety, used in zip(thresholds, np.mean(found.safety, axis=0), spent, strict=True):
        yield f"{robot}, B = {b:g}: as many rollouts as each task needs certify {safety:.3f} with {used:.1f} per task"


EXPERIMENT = Experiment("robots", "figures 4b and 4c, cheetah and walker, from the sample returns", run)
