"""Cheetah and walker: the paper's three budgets (figures 4b and 4c).

From the sample returns: ten orders of tasks and rollouts, of which a budget takes the first; in place of the exact
safety there is that of the whole sample. From rollouts of the shipped policies: fresh tasks for each seed, beside those
of an evaluation set. delta = 0.01, empirical Bernstein for the paper.
"""

from collections.abc import Iterator, Sequence

import numpy as np

import jaxcert
from benchmarks.paper.curves import (
    DEFAULT_BETA,
    DELTA,
    PAPER_BETA,
    SEEDS,
    Curve,
    Ways,
    adaptive,
    certificates,
    drawn,
    empirical,
    findings,
    panel,
)
from benchmarks.paper.domains import orders
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert import certify_sequential
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.training import sample_policy

SUPPORT, THRESHOLDS = (0.0, 1000.0), np.linspace(0, 1000, 101)
# The last size is cut to that of the sample.
SAMPLE_BUDGETS = ((50, 100), (100, 100), (200, 100))
FEW = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}
BUDGETS, EVALUATION = ((50, 100), (100, 300), (200, 1000)), (2000, 100)
SMALL_BUDGETS, SMALL_EVALUATION = ((30, 10),), (60, 10)
EVALUATION_SEED = 1000


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


# --- the sample returns -------------------------------------------------------------------------------------------


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


# --- rollouts of the shipped policies -----------------------------------------------------------------------------


def run_rollouts(full: bool) -> Findings:
    """At full size for a GPU: 4.4 million episodes of 1000 steps."""
    budgets, seeds = (BUDGETS, SEEDS) if full else (SMALL_BUDGETS, SEEDS[:2])
    found, lines = [], []
    for robot in FEW:
        env, policy = ENVIRONMENTS[robot].make(), sample_policy(robot)
        evaluated = drawn(env, policy, EVALUATION_SEED, *(EVALUATION if full else SMALL_EVALUATION))
        returns = np.stack([drawn(env, policy, seed, *budgets[-1]) for seed in seeds])
        found += panels(robot, returns, budgets, empirical(evaluated[None], THRESHOLDS)[0])
        few = adaptive(env, policy, FEW[robot][:1], seeds, budgets[-1], binary=False)
        lines += [f"{robot}, {line}" for line in few]
    return findings(found, lines)


ROLLOUTS = Experiment(
    "robots_rollouts",
    "figures 4b and 4c, from rollouts of the shipped policies",
    run_rollouts,
    ("mujoco_playground", "brax"),
)
