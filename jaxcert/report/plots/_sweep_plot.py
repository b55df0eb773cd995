"""A sweep as pictures: certified safety with its spread over seeds, and over beta and delta."""

from typing import Any

import numpy as np

from jaxcert.report.plots._axes import drawing, dress, name, styles
from jaxcert.sweep import SweepResult

# Axes of a sweep whose settings make one curve each.
_SETTINGS = ("budget", "bound", "method", "beta", "delta")


def plot_sweep(
    result: SweepResult, *, quantiles: tuple[float, float] = (0.1, 0.9), title: str = "", ax: Any = None
) -> Any:
    """Draw the certified safety against the threshold for every setting: its median over seeds, and a band.

    The band shows how certificates vary between seeds; it is no statement about the true safety.

    Args:
        result: of `jaxcert.sweep.sweep`.
        quantiles: lower and upper end of the band, shares of the seeds.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: quantiles that are not in increasing order within [0, 1].
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid([400, 500, 600], methods=("binomial", "scenario"))
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> [line.get_label() for line in plot_sweep(result).lines]
        ['binomial', 'scenario']
    """
    if not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise ValueError(f"quantiles is {quantiles!r}, expected two shares of the seeds in increasing order")
    thresholds = np.asarray(result.grid.thresholds)
    order = np.argsort(thresholds)
    low, middle, high = np.quantile(result.safety, (quantiles[0], 0.5, quantiles[1]), axis=0)[..., order]
    labels = _labels(result)
    with drawing(ax) as ax:
        for place, style in zip(np.ndindex(*middle.shape[:-1]), styles(), strict=False):
            ax.plot(thresholds[order], middle[place], label=labels[place] or None, **style)
            if len(result.safety) > 1:
                ax.fill_between(
                    thresholds[order], low[place], high[place], color=style["color"], alpha=0.2, linewidth=0
                )
        dress(ax, title=title, xlabel="threshold B", ylabel="certified safety 1−ε")
        ax.set_ylim(-0.02, 1.02)
    return ax


def plot_levels(result: SweepResult, *, threshold: float, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at one threshold over beta and delta: the mean over seeds, as a grid with figures.

    Args:
        result: of `jaxcert.sweep.sweep`, with one budget, bound and method.
        threshold: one of the grid's.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: several budgets, bounds or methods, or another threshold.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid(500, betas=(0.01, 0.05, 0.1), deltas=(0.01, 0.05))
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> plot_levels(result, threshold=500).get_xlabel()
        'β, of a single task'
    """
    places = np.flatnonzero(np.asarray(result.grid.thresholds) == threshold)
    if not places.size:
        raise ValueError(f"threshold is {threshold!r}, expected one of the grid's")
    if any(size != 1 for size in result.safety.shape[1:4]):
        raise ValueError("the sweep has several budgets, bounds or methods, expected one of each")
    safety = result.safety[:, 0, 0, 0, :, :, places[0]].mean(axis=0).T
    betas = ["default" if beta is None else f"{beta:g}" for beta in result.grid.betas]
    with drawing(ax) as ax:
        # Lighter is safer, in grey as well.
        picture = ax.imshow(safety, cmap="cividis", aspect="auto")
        for (row, column), value in np.ndenumerate(safety):
            colour = "black" if picture.norm(value) > 0.5 else "white"
            ax.text(column, row, f"{np.floor(1000 * value) / 1000:.3f}", ha="center", va="center", color=colour)
        ax.set_xticks(range(len(betas)), betas)
        ax.set_yticks(range(len(safety)), [f"{delta:g}" for delta in result.grid.deltas])
        name(ax, title=title or f"certified safety at {threshold:g}", xlabel="β, of a single task", ylabel="δ")
    return ax


def _labels(result: SweepResult) -> np.ndarray:
    """What distinguishes each setting from the others, [budget, bound, method, beta, delta]."""
    names = {axis: result.coordinates()[axis] for axis in _SETTINGS}
    labels = np.empty(result.safety.shape[1:-1], object)
    for place in np.ndindex(*labels.shape):
        chosen = zip(names.items(), place, strict=True)
        labels[place] = ", ".join(_label(axis, values[i]) for (axis, values), i in chosen if len(values) > 1)
    return labels


def _label(axis: str, value: Any) -> str:
    if axis in ("beta", "delta"):
        return "default β" if np.isnan(value) else f"{'β' if axis == 'beta' else 'δ'} = {value:g}"
    return str(value).replace("_", " ").replace("x", " × ") if axis == "budget" else str(value).replace("_", " ")
