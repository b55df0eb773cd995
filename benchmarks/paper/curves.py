"""Certified safety over thresholds for several seeds: the settings of the paper, rows, pictures."""

import argparse
import csv
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
        safety: [seeds, t] at ``THRESHOLDS``.
        exact: S(B), [t].
    """

    experiment: str
    method: str
    safety: np.ndarray
    exact: np.ndarray

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


def empirical(returns: np.ndarray) -> np.ndarray:
    """The share of tasks whose mean return is at least B: [seeds, n, m] to [seeds, t]. Not a certificate."""
    means = np.asarray(returns).mean(axis=-1)
    return (means[:, :, None] >= THRESHOLDS).mean(axis=1)


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


def run(panels: Iterable[list[Curve]], doc: str | None) -> None:
    """A line per curve, and the files that the command line asks for."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the curves as CSV")
    parser.add_argument("--plot", type=Path, help="draw the curves")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "scenario at beta", UserWarning)
    found = []
    for panel in panels:
        found.append(panel)
        print(*map(summary, panel), sep="\n", flush=True)
    if options.out is not None:
        write([curve for panel in found for curve in panel], options.out)
    if options.plot is not None:
        plot(found, options.plot)


def summary(curve: Curve) -> str:
    """One line."""
    return f"{curve.experiment:34}{curve.method:44}gap {curve.gap:.4f}  seeds above the exact safety: {curve.above}"


def write(curves: Iterable[Curve], out: Path) -> None:
    """One row per experiment, method and threshold."""
    with out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["experiment", "method", "threshold", "exact", "mean", "std"])
        for curve in curves:
            columns = (THRESHOLDS, curve.exact, curve.mean, curve.std)
            for numbers in zip(*columns, strict=True):
                writer.writerow([curve.experiment, curve.method, *(f"{number:.6g}" for number in numbers)])


def plot(panels: Sequence[Sequence[Curve]], out: Path, columns: int = 2) -> None:
    """One panel per experiment: the mean of each method with a band of one standard deviation, and the exact safety."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns, sharey=True)).ravel()
    for place, curves in zip(axes, panels, strict=False):
        _panel(place, curves)
    for place in axes[len(panels) :]:
        place.set_axis_off()
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, fontsize=8, loc="outside lower center", ncols=columns)
    figure.savefig(out, dpi=110)


def _panel(place: Any, curves: Sequence[Curve]) -> None:
    place.plot(THRESHOLDS, curves[0].exact, color="black", linewidth=1.2, label="exact safety")
    for curve in curves:
        style = {"linestyle": ":"} if curve.method == "empirical" else {}
        (line,) = place.plot(THRESHOLDS, curve.mean, label=curve.method, linewidth=1, **style)
        low, high = np.clip([curve.mean - curve.std, curve.mean + curve.std], 0, 1)
        place.fill_between(THRESHOLDS, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    place.set_title(curves[0].experiment, fontsize=9)
    place.set_xlabel("threshold B on the success probability")
    place.set_ylabel("safety")
    place.grid(alpha=0.3)
