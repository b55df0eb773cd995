"""Single tasks as pictures: their bounds, and the distribution of their performance."""

from collections.abc import Mapping
from typing import Any

import chex
import numpy as np

from jaxcert.report.plots._axes import drawing, dress, styles


def plot_bounds(
    lower_bounds: Mapping[str, chex.Array], *, performances: chex.Array | None = None, title: str = "", ax: Any = None
) -> Any:
    """Draw per-task lower bounds beside each other, tasks in the order of their performance.

    Args:
        lower_bounds: by their label in the legend, float[n] each, of the same tasks; -inf is not drawn.
        performances: float[n], exact or as the mean of the returns. Without any, each bound is sorted by itself.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: no bound, or arrays that are not [n] with the same n.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = {"betting": jaxcert.bounds.betting(returns, 0.05, support=(0, 1000))}
        >>> plot_bounds(found, performances=returns.mean(axis=1)).get_ylabel()
        'return'
    """
    values = {label: np.asarray(bound) for label, bound in lower_bounds.items()}
    given = [*values.values(), *([] if performances is None else [np.asarray(performances)])]
    if not values or {one.shape for one in given} != {(len(given[0]),)}:
        raise ValueError(f"lower_bounds and performances have shapes {[one.shape for one in given]}, expected one [n]")
    order = None if performances is None else np.argsort(given[-1])
    with drawing(ax) as ax:
        if order is not None:
            ax.plot(given[-1][order], color="black", linewidth=0.9, label="performance")
        for (label, bound), style in zip(values.items(), styles(), strict=False):
            ax.plot(
                np.where(np.isfinite(bound), bound, np.nan)[np.argsort(bound) if order is None else order],
                label=label,
                **style,
            )
        dress(ax, title=title, xlabel="tasks, from the worst", ylabel="return")
    return ax


def plot_performance(returns: Mapping[str, chex.Array] | chex.Array, *, title: str = "", ax: Any = None) -> Any:
    """Draw the share of the sampled tasks whose mean return is at least B. It describes them and certifies nothing.

    Args:
        returns: float[n, m], or several by their label in the legend; NaN for missing rollouts.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: arrays that are not [n, m].
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jaxcert
        >>> plot_performance(jaxcert.sample_returns("cheetah")).get_ylabel()
        'share of the sampled tasks'
    """
    named = returns if isinstance(returns, Mapping) else {"": returns}
    means = {}
    for label, values in named.items():
        if np.ndim(values) != 2:
            raise ValueError(f"returns have shape {np.shape(values)}, expected [n, m]")
        means[label] = np.sort(np.nanmean(np.asarray(values), axis=1))
    with drawing(ax) as ax:
        for (label, sorted_means), style in zip(means.items(), styles(), strict=False):
            share = 1 - np.arange(len(sorted_means) + 1) / len(sorted_means)
            x = np.concatenate([sorted_means[:1], sorted_means])
            ax.plot(x, share, drawstyle="steps-pre", label=label or None, **style)
        dress(ax, title=title, xlabel="mean return of a task, at least", ylabel="share of the sampled tasks")
        ax.set_ylim(-0.02, 1.02)
    return ax
