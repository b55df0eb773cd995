"""The illustrative grid beside its exact safety: figure 2c, and the four budgets of figure 3.

delta = 0.01, ten seeds fixed beforehand; mean and one standard deviation over seeds.
"""

import jax
import numpy as np

from benchmarks.paper.curves import SEEDS, THRESHOLDS, Curve, adaptive, empirical, findings, rollout_certificates
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert.rollouts import collect
from jaxcert.tasks import simple_grid

ADAPTIVE = (0.7, 0.8, 0.9)
BUDGETS = ((250, 1000), (30, 100), (30, 1000), (100, 100), (100, 1000))


def panels() -> list[list[Curve]]:
    """One panel per budget; the smaller ones use the first tasks and rollouts of the largest."""
    returns = np.stack([_draw(seed) for seed in SEEDS])
    exact = np.asarray(simple_grid.safety(THRESHOLDS))
    certified = rollout_certificates(returns, BUDGETS)
    return [
        [
            Curve(f"n = {n}, m = {m}", method, safety, exact)
            for method, safety in {"empirical": empirical(returns[:, :n, :m]), **found}.items()
        ]
        for (n, m), found in zip(BUDGETS, certified, strict=True)
    ]


def _draw(seed: int) -> np.ndarray:
    key_tasks, key_rollouts = jax.random.split(jax.random.key(seed))
    num_tasks, num_rollouts = BUDGETS[0]
    slips = simple_grid.ENV.sample_tasks(key_tasks, num_tasks)
    return np.asarray(collect(simple_grid.ENV, simple_grid.POLICY, slips, key_rollouts, num_rollouts=num_rollouts))


def run(full: bool) -> Findings:
    """At the paper's size in any case, which takes seconds."""
    return findings(panels(), adaptive(simple_grid.ENV, simple_grid.POLICY, ADAPTIVE, SEEDS, BUDGETS[0]))


EXPERIMENT = Experiment("simple_grid", "figures 2 and 3, the illustrative grid beside its exact safety", run)
