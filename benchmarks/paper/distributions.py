"""The distributions of performance over tasks, with the return that each method certifies on 90 % of them."""

from typing import Any, NamedTuple

import jax
import numpy as np

import jaxcert
from benchmarks.paper.curves import DELTA, PAPER_BETA
from benchmarks.paper.experiment import Experiment, Findings, markdown
from jaxcert import certify_safety_level
from jaxcert.rollouts import MultiTaskEnv, Policy, collect
from jaxcert.tasks import bridge_world, simple_grid, zones
from jaxcert.training import sample_policy

WANTED, QUANTILES = 0.9, (0.01, 0.1, 0.5, 0.9)
BUDGET, SMALL_BUDGET = (200, 1000), (200, 100)


class Domain(NamedTuple):
    """Returns [n, m], and their support."""

    returns: np.ndarray
    support: tuple[float, float]

    @property
    def performances(self) -> np.ndarray:
        """The mean returns of tasks, in increasing order."""
        return np.sort(self.returns.mean(axis=1))

    @property
    def binary(self) -> bool:
        """Whether every return is 0 or 1."""
        return self.support == (0.0, 1.0)


def domains(budget: tuple[int, int]) -> dict[str, Domain]:
    """The paper's four, and the illustrative grid."""
    table = bridge_world.table_policy
    made: dict[str, tuple[MultiTaskEnv, Policy]] = {
        "illustrative grid": (simple_grid.ENV, simple_grid.POLICY),
        "BridgeWorld, left": (bridge_world.ENV, table(bridge_world.left_policy())),
        "BridgeWorld, right": (bridge_world.ENV, table(bridge_world.right_policy())),
        "zones": (zones.ENV, sample_policy("zones", deterministic=False)),
    }
    samples = {name: Domain(jaxcert.sample_returns(name), (0.0, 1000.0)) for name in ("cheetah", "walker")}
    return {name: Domain(_collected(*pair, budget), (0.0, 1.0)) for name, pair in made.items()} | samples


def _collected(env: MultiTaskEnv, policy: Policy, budget: tuple[int, int]) -> np.ndarray:
    key_tasks, key = jax.random.split(jax.random.key(0))
    tasks = env.sample_tasks(key_tasks, budget[0])
    return np.asarray(collect(env, policy, tasks, key, num_rollouts=budget[1]))


def run(full: bool) -> Findings:
    """With the paper's number of rollouts, or a tenth."""
    found = domains(BUDGET if full else SMALL_BUDGET)
    columns = ("domain", "n × m", "mean", *(f"{100 * q:g} %" for q in QUANTILES), "the paper, on 90 %", "default")
    rows = [(name, *_row(domain)) for name, domain in found.items()]
    return Findings(markdown(columns, rows), columns, rows, _figure(found))


def _row(domain: Domain) -> tuple[Any, ...]:
    values = domain.performances
    bounds = ("clopper_pearson", "clopper_pearson") if domain.binary else ("empirical_bernstein", "betting")
    ways: list[dict[str, Any]] = [{"bound": bounds[0], "method": "scenario", "beta": PAPER_BETA}, {"bound": bounds[1]}]
    settings: dict[str, Any] = {"support": domain.support, "delta": DELTA}
    found = [certify_safety_level(domain.returns, WANTED, **settings, **way) for way in ways]
    certified = (float(one.thresholds[0]) for one in found)
    size = " × ".join(map(str, domain.returns.shape))
    return size, float(values.mean()), *map(float, np.quantile(values, QUANTILES)), *certified


def _figure(found: dict[str, Domain]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    for axes, (name, domain) in zip(figure.subplots(2, -(-len(found) // 2)).ravel(), found.items(), strict=False):
        values = domain.performances
        axes.step(values, np.arange(1, len(values) + 1) / len(values), where="post", color="black", linewidth=1)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("mean return of a task")
        axes.set_ylabel("share of tasks at most there")
        axes.grid(alpha=0.3)
    return figure


EXPERIMENT = Experiment("distributions", "the distributions of performance over tasks", run)
