"""The distributions of performance over tasks (figure 12), with the return that is certified on 90 % of new ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._common import markdown
from benchmarks.paper.curves import DELTA, PAPER_BETA
from benchmarks.paper.domains import DISCRETE, ROBOTS, Domain, domain
from benchmarks.paper.experiment import Experiment, Findings, grid
from jaxcert import certify_safety_level

WANTED, QUANTILES, NUM_BINS = 0.9, (0.01, 0.1, 0.5, 0.9), 40
NUM_ROLLOUTS, FEWER_ROLLOUTS = 1000, 100


def run(full: bool) -> Findings:
    """With the paper's number of rollouts where returns are 0 or 1, or a tenth."""
    found = {name: domain(name, NUM_ROLLOUTS if full else FEWER_ROLLOUTS) for name in (*DISCRETE, *ROBOTS)}
    certified = {name: tuple(_certified(one)) for name, one in found.items()}
    columns = ("domain", "n × m", "mean", *(f"{100 * q:g} %" for q in QUANTILES), "the paper, on 90 %", "default")
    rows = [(name, *_row(one), *certified[name]) for name, one in found.items()]
    panels = [(name, one, certified[name]) for name, one in found.items()]
    figure = grid(panels, _draw, -(-len(panels) // 2), (10, 6), "share of the tasks in a bin")
    return Findings(markdown(columns, rows), columns, rows, figure)


def _certified(found: Domain) -> Iterator[float]:
    """The return on 90 % of new tasks: by the paper's method, by the default."""
    bounds = ("clopper_pearson", "clopper_pearson") if found.binary else ("empirical_bernstein", "betting")
    ways: list[dict[str, Any]] = [{"bound": bounds[0], "method": "scenario", "beta": PAPER_BETA}, {"bound": bounds[1]}]
    for way in ways:
        one = certify_safety_level(found.returns, WANTED, support=found.support, delta=DELTA, **way)
        yield float(one.thresholds[0])


def _row(found: Domain) -> tuple[Any, ...]:
    values = found.performances
    return " × ".join(map(str, found.returns.shape)), float(values.mean()), *map(float, np.quantile(values, QUANTILES))


def _draw(axes: Any, panel: tuple[str, Domain, tuple[float, ...]]) -> None:
    name, one, (paper, default) = panel
    values = one.performances
    bins = np.linspace(*one.support, NUM_BINS + 1)
    axes.hist(values, bins, weights=np.full(len(values), 1 / len(values)), color="#9db8cf", label="tasks")
    tenth = float(np.quantile(values, 1 - WANTED))
    axes.axvline(tenth, color="black", linewidth=1, linestyle=":", label="90 % of these tasks reach it, not certified")
    axes.axvline(default, color="#d55e00", linewidth=1.8, label="certified on 90 % of new tasks, default")
    axes.axvline(paper, color="#0072b2", linewidth=1.8, linestyle="--", label="certified on 90 %, the paper")
    axes.set_title("{}, n = {}, m = {}".format(name, *one.returns.shape), fontsize=9)
    axes.set_xlabel("success rate of a task" if one.binary else "mean return of a task", fontsize=9)


EXPERIMENT = Experiment("distributions", "figure 12, the distributions of performance over tasks", run)
