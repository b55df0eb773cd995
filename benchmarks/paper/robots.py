"""Cheetah and walker: the paper's three budgets (figures 4b and 4c).

From the sample returns: ten orders of tasks and rollouts, of which a budget takes the first; in place of the exact
safety there is that of the whole sample. delta = 0.01, empirical Bernstein for the paper.
"""

import numpy as np

import jaxcert
from benchmarks.paper.curves import DEFAULT_BETA, PAPER_BETA, Curve, Ways, by_budget, empirical, findings
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


def run(full: bool) -> Findings:
    """At the size of the samples in any case, which takes seconds."""
    found: list[list[Curve]] = []
    for robot in ROBOTS:
        returns = orders(jaxcert.sample_returns(robot))
        budgets = [(n, min(m, returns.shape[2])) for n, m in SAMPLE_BUDGETS]
        share, settings = empirical(returns[:1], THRESHOLDS)[0], {"thresholds": THRESHOLDS, "support": SUPPORT}
        found += by_budget(returns, budgets, share, title=f"{robot}, ", ways=WAYS, **settings)
    return findings(found)


EXPERIMENT = Experiment("robots", "figures 4b and 4c, cheetah and walker, from the sample returns", run)
