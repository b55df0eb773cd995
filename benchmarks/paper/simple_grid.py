"""The illustrative grid beside its exact safety: figure 2c, and the four budgets of figure 3.

delta = 0.01, ten seeds fixed beforehand; mean and one standard deviation over seeds.
"""

import numpy as np

from benchmarks.paper.curves import SEEDS, THRESHOLDS, Curve, adaptive, by_budget, drawn, findings
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert.tasks import simple_grid

ADAPTIVE = (0.7, 0.8, 0.9)
BUDGETS = ((250, 1000), (30, 100), (30, 1000), (100, 100), (100, 1000))


def panels() -> list[list[Curve]]:
    """One panel per budget; the smaller ones use the first tasks and rollouts of the largest."""
    returns = np.stack([drawn(simple_grid.ENV, simple_grid.POLICY, seed, *BUDGETS[0]) for seed in SEEDS])
    return [*by_budget(returns, BUDGETS, np.asarray(simple_grid.safety(THRESHOLDS)))]


def run(full: bool) -> Findings:
    """At the paper's size in any case, which takes seconds."""
    return findings(panels(), adaptive(simple_grid.ENV, simple_grid.POLICY, ADAPTIVE, SEEDS, BUDGETS[0]))


EXPERIMENT = Experiment("simple_grid", "figures 2 and 3, the illustrative grid beside its exact safety", run)
