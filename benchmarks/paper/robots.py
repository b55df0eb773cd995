"""Cheetah and walker: the paper's three budgets (figures 4b and 4c).

From the sample returns: ten orders of tasks and rollouts, of which a budget takes the first; in place of the exact
safety there is that of the whole sample. From rollouts of the shipped policies: fresh tasks for each seed, beside those
of an evaluation set. delta = 0.01, empirical Bernstein for the paper.
"""

from collections.abc import Iterator, Sequence

import jax
import numpy as np

import jaxcert
from benchmarks.paper.curves import DEFAULT_BETA, DELTA, PAPER_BETA, SEEDS, Curve, adaptive, empirical, findings
from benchmarks.paper.domains import orders
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert import certify_sequential
from jaxcert.rollouts import collect
from jaxcert.sweep import Grid, sweep
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.training import sample_policy

SUPPORT, THRESHOLDS = (0.0, 1000.0), np.linspace(0, 1000, 101)
# The last size is cut to that of the sample.
SAMPLE_BUDGETS = ((50, 100), (100, 100), (200, 100))
FEW = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}
BUDGETS, EVALUATION = ((50, 100), (100, 300), (200, 1000)), (2000, 100)
SMALL_BUDGETS, SMALL_EVALUATION = ((30, 10),), (60, 10)
EVALUATION_SEED = 1000


def certificates(returns: np.ndarray, budgets: Sequence[tuple[int, int]]) -> list[dict[str, np.ndarray]]:
    """For each (n, m), from the first tasks and rollouts: [seeds, t] by method."""
    bounds, methods, betas = ("empirical_bernstein", "betting"), ("scenario", "binomial"), (PAPER_BETA, DEFAULT_BETA)
    grid = Grid(THRESHOLDS, bounds=bounds, methods=methods, betas=betas, deltas=DELTA, budgets=budgets)
    safety = sweep(returns, grid, support=SUPPORT).safety[..., 0, :]
    return [
        {
            f"empirical Bernstein, scenario, beta {PAPER_BETA:g} (the paper)": one[:, 0, 0, 0],
            f"empirical Bernstein, binomial, beta {DEFAULT_BETA:g}": one[:, 0, 1, 1],
            f"betting, binomial, beta {DEFAULT_BETA:g} (default)": one[:, 1, 1, 1],
        }
        for one in np.moveaxis(safety, 1, 0)
    ]


def panels(
    robot: str, returns: np.ndarray, budgets: Sequence[tuple[int, int]], exact: np.ndarray
) -> Iterator[list[Curve]]:
    """One per budget, from returns [seeds, n, m]."""
    for (n, m), found in zip(budgets, certificates(returns, budgets), strict=True):
        methods = {"empirical": empirical(returns[:, :n, :m], THRESHOLDS), **found}
        yield [Curve(f"{robot}, n = {n}, m = {m}", name, safety, exact, THRESHOLDS) for name, safety in methods.items()]


# --- the sample returns -------------------------------------------------------------------------------------------


def run(full: bool) -> Findings:
    """At the size of the samples in any case, which takes seconds."""
    drawn, lines = [], []
    for robot, thresholds in FEW.items():
        returns = orders(jaxcert.sample_returns(robot))
        budgets = [(n, min(m, returns.shape[2])) for n, m in SAMPLE_BUDGETS]
        drawn += panels(robot, returns, budgets, empirical(returns[:1], THRESHOLDS)[0])
        lines += sequential(robot, returns, thresholds)
    return findings(drawn, lines)


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
    drawn, lines = [], []
    for robot in FEW:
        env, policy = ENVIRONMENTS[robot].make(), sample_policy(robot)

        def returns_of(seed: int, num_tasks: int, num_rollouts: int, env=env, policy=policy) -> np.ndarray:
            key_tasks, key = jax.random.split(jax.random.key(seed))
            tasks = env.sample_tasks(key_tasks, num_tasks)
            return np.asarray(collect(env, policy, tasks, key, num_rollouts=num_rollouts))

        evaluated = returns_of(EVALUATION_SEED, *(EVALUATION if full else SMALL_EVALUATION))
        returns = np.stack([returns_of(seed, *budgets[-1]) for seed in seeds])
        drawn += panels(robot, returns, budgets, empirical(evaluated[None], THRESHOLDS)[0])
        lines += [
            f"{robot}, {line}" for line in adaptive(env, policy, FEW[robot][:1], seeds, budgets[-1], binary=False)
        ]
    return findings(drawn, lines)


ROLLOUTS = Experiment(
    "robots_rollouts",
    "figures 4b and 4c, from rollouts of the shipped policies",
    run_rollouts,
    ("mujoco_playground", "brax"),
)
