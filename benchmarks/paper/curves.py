"""Certified safety over thresholds for several seeds: the settings of the paper, rows, pictures."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.paper.experiment import Findings
from jaxcert import certify_adaptive
from jaxcert.rollouts import MultiTaskEnv, Policy
from jaxcert.sweep import Grid, sweep

THRESHOLDS = np.linspace(0.0, 1.0, 101)
# Fixed beforehand.
SEEDS = range(10)
DELTA, PAPER_BETA, DEFAULT_BETA = 0.01, 1e-4, 0.05


class Curve(NamedTuple):
    """One method in one experiment.

    Attributes:
        experiment: which world, policy and budget.
        method: how the safety was certified, or "empirical" for the share of tasks with a mean return of B.
        safety: [seeds, t] at the thresholds.
        exact: S(B), [t]; where it is not known, that of an evaluation set.
        thresholds: [t].
    """

    experiment: str
    method: str
    safety: np.ndarray
    exact: np.ndarray
    thresholds: np.ndarray = THRESHOLDS

    @property
    def mean(self) -> np.ndarray:
        """Over seeds."""
        return self.safety.mean(axis=0)

    @property
    def std(self) -> np.ndarray:
        """Over seeds."""
        return self.safety.std(axis=0, ddof=1)

    @property
    def gap(self) -> float:
        """Mean distance between the exact and the certified safety, over thresholds and seeds."""
        return float(np.mean(self.exact - self.mean))

    @property
    def above(self) -> int:
        """Seeds in which some certificate lies above the exact safety."""
        return int(np.sum(np.any(self.safety > self.exact + 1e-6, axis=1)))


def empirical(returns: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """The share of tasks whose mean return is at least B: [seeds, n, m] to [seeds, t]. Not a certificate."""
    means = np.asarray(returns).mean(axis=-1)
    return (means[:, :, None] >= thresholds).mean(axis=1)


def rollout_certificates(returns: np.ndarray, budgets: Sequence[tuple[int, int]]) -> list[dict[str, np.ndarray]]:
    """For each (n, m), from the first tasks and rollouts: [seeds, t] by method."""
    grid = Grid(
        THRESHOLDS,
        bounds="clopper_pearson",
        methods=("scenario", "binomial"),
        betas=(PAPER_BETA, DEFAULT_BETA),
        deltas=DELTA,
        budgets=budgets,
    )
    safety = sweep(returns, grid, support=(0, 1)).safety[:, :, 0, :, :, 0]
    return [
        {
            f"scenario, beta {PAPER_BETA:g} (the paper)": one[:, 0, 0],
            f"binomial, beta {PAPER_BETA:g}": one[:, 1, 0],
            f"binomial, beta {DEFAULT_BETA:g} (default)": one[:, 1, 1],
        }
        for one in np.moveaxis(safety, 1, 0)
    ]


def adaptive(
    env: MultiTaskEnv,
    policy: Policy,
    thresholds: Sequence[float],
    seeds: Sequence[int],
    budget: tuple[int, int],
    *,
    binary: bool = True,
) -> Iterator[str]:
    """What as many rollouts certify as each of the n tasks needs, at most m; a line per threshold.

    By default returns are 0 or 1, and the certificate is told so.
    """
    num_tasks, most = budget
    for b in thresholds:
        settings: dict[str, Any] = {"num_tasks": num_tasks, "max_rollouts": num_tasks * most, "delta": DELTA}
        settings |= {"max_rollouts_per_task": most, "binary": binary}
        runs = [certify_adaptive(env, policy, _fresh(seed), b, **settings) for seed in seeds]
        safety = np.mean([float(one.certificate.safety[0]) for one in runs])
        spent = np.mean([int(one.num_started) for one in runs]) / num_tasks
        yield f"{num_tasks} tasks, B = {b:g}: adaptive rollouts certify {safety:.3f} with {spent:.0f} per task"


def _fresh(seed: int) -> jax.Array:
    """A key that the curves do not use."""
    return jax.random.fold_in(jax.random.key(seed), 1)


def findings(panels: Iterable[list[Curve]], lines: Iterable[str] = ()) -> Findings:
    """A line per curve, then others; all curves as rows; a panel per experiment."""
    drawn = list(panels)
    curves = [curve for panel in drawn for curve in panel]
    columns = ("experiment", "method", "threshold", "exact", "mean", "std")
    return Findings([*map(summary, curves), *lines], columns, rows(curves), figure(drawn))


def summary(curve: Curve) -> str:
    """One line."""
    return f"{curve.experiment:34}{curve.method:66}gap {curve.gap:.4f}  seeds above the exact safety: {curve.above}"


def rows(curves: Iterable[Curve]) -> Iterator[tuple[Any, ...]]:
    """One per experiment, method and threshold."""
    for curve in curves:
        for numbers in zip(curve.thresholds, curve.exact, curve.mean, curve.std, strict=True):
            yield curve.experiment, curve.method, *map(float, numbers)


def figure(panels: Sequence[Sequence[Curve]], columns: int = 2) -> Any:
    """One panel per experiment: the mean of each method with a band of one standard deviation, and the exact safety."""
    from matplotlib.figure import Figure

    height = -(-len(panels) // columns)
    drawn = Figure(figsize=(5 * columns, 3.6 * height), layout="constrained")
    axes = np.atleast_1d(drawn.subplots(height, columns, sharey=True)).ravel()
    for place, curves in zip(axes, panels, strict=False):
        _panel(place, curves)
    for place in axes[len(panels) :]:
        place.set_axis_off()
    lines, labels = axes[0].get_legend_handles_labels()
    drawn.legend(lines, labels, fontsize=8, loc="outside lower center", ncols=columns)
    return drawn


def _panel(place: Any, curves: Sequence[Curve]) -> None:
    x = curves[0].thresholds
    place.plot(x, curves[0].exact, color="black", linewidth=1.2, label="exact safety, or of an evaluation set")
    for curve in curves:
        style = {"linestyle": ":"} if curve.method == "empirical" else {}
        (line,) = place.plot(x, curve.mean, label=curve.method, linewidth=1, **style)
        low, high = np.clip([curve.mean - curve.std, curve.mean + curve.std], 0, 1)
        place.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    place.set_title(curves[0].experiment, fontsize=9)
    place.set_xlabel("threshold B")
    place.set_ylabel("safety")
    place.grid(alpha=0.3)
