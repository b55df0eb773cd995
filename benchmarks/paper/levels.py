"""The ablation of beta and delta on the sample returns: the certified safety at one threshold for every pair."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.paper.experiment import Experiment, Findings, markdown
from jaxcert import certify_sequential
from jaxcert.sweep import Grid, sweep

SUPPORT = (0.0, 1000.0)
THRESHOLDS = {"cheetah": 500.0, "walker": 600.0}
BETAS = (1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
DELTAS = (1e-3, 0.01, 0.05, 0.1)
SHOWN = 0.01
# Bound and method, with what they are called here.
CHOICES = {
    ("empirical_bernstein", "scenario"): "empirical Bernstein, scenario (the paper)",
    ("empirical_bernstein", "binomial"): "empirical Bernstein, binomial",
    ("betting", "binomial"): "betting, binomial (default)",
}


class Ablation(NamedTuple):
    """One robot and one way to certify: the safety, [betas, deltas]."""

    robot: str
    choice: str
    safety: np.ndarray


def ablations() -> Iterator[Ablation]:
    """All robots, and the three ways; the fourth is one rollout after the other."""
    for robot, b in THRESHOLDS.items():
        returns = jaxcert.sample_returns(robot)
        bounds, methods = ("empirical_bernstein", "betting"), ("scenario", "binomial")
        grid = Grid([b], bounds=bounds, methods=methods, betas=BETAS, deltas=DELTAS)
        safety = np.asarray(sweep(returns[None], grid, support=SUPPORT).safety)[0, 0, ..., 0]
        for (bound, method), name in CHOICES.items():
            yield Ablation(robot, name, safety[bounds.index(bound), methods.index(method)])
        yield Ablation(robot, "as many rollouts as each task needs", _sequential(returns, b))


def _sequential(returns: np.ndarray, b: float) -> np.ndarray:
    def one(beta: jax.Array, delta: jax.Array) -> jax.Array:
        settings: dict[str, Any] = {"support": SUPPORT, "validate": False}
        return certify_sequential(returns, b, beta=beta, delta=delta, **settings).safety[0]

    pairs = jax.vmap(jax.vmap(one, (None, 0)), (0, None))
    return np.asarray(pairs(jnp.asarray(BETAS), jnp.asarray(DELTAS)))


def run(full: bool) -> Findings:
    """At the size of the samples in any case."""
    found = list(ablations())
    columns = ("robot", "way", "beta", "delta", "safety")
    rows = [
        (each.robot, each.choice, beta, delta, float(each.safety[i, j]))
        for each in found
        for (i, beta), (j, delta) in itertools.product(enumerate(BETAS), enumerate(DELTAS))
    ]
    return Findings(_lines(found), columns, rows, _figure(found))


def _lines(found: list[Ablation]) -> Iterator[str]:
    for robot, b in THRESHOLDS.items():
        yield f"{robot}, B = {b:g}, delta = {SHOWN:g}: certified safety by beta"
        rows = [(one.choice, *map(float, one.safety[:, DELTAS.index(SHOWN)])) for one in found if one.robot == robot]
        yield from markdown(("", *(f"{beta:g}" for beta in BETAS)), rows)


def _figure(found: list[Ablation]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, len(DELTAS) // 2, sharex=True, sharey=True).ravel()
    styles = dict(zip(THRESHOLDS, ("-", "--"), strict=True))
    colours = {one.choice: f"C{i}" for i, one in enumerate(found[: len(found) // len(THRESHOLDS)])}
    for (j, delta), axes in zip(enumerate(DELTAS), panels, strict=True):
        for one in found:
            label = f"{one.robot}, {one.choice}"
            axes.semilogx(BETAS, one.safety[:, j], styles[one.robot], color=colours[one.choice], label=label)
        axes.set_title(f"delta = {delta:g}", fontsize=9)
        axes.set_xlabel("beta")
        axes.set_ylabel("certified safety")
        axes.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=2)
    return figure


EXPERIMENT = Experiment("levels", "the ablation of beta and delta, on the sample returns", run)
