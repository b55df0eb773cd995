"""The evidence of a monitor, task by task."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.monitoring import Row
from jaxcert.report.plots._axes import GREY, drawing, dress, styles

_LOWEST, _HIGHEST = -14.0, 700.0  # of the logarithms that are drawn


def plot_evidence(rows: Sequence[Row], *, alpha: float, title: str = "", ax: Any = None) -> Any:
    """Draw the evidence against a claim after each deployed task, and the evidence of a change.

    Args:
        rows: of a `jaxcert.monitoring.Monitor`.
        alpha: its probability of a false alarm; the alarm is at evidence of 1/alpha.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default the axes of a new figure, for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> from jaxcert.monitoring import Row
        >>> rows = [Row(i, str(i), (0.0,), True, i / 2, i / 2) for i in range(1, 10)]
        >>> plot_evidence(rows, alpha=0.05).get_ylabel()
        'evidence'
    """
    numbers = [row.number for row in rows]
    curves = {
        "that the claim does not hold": [row.log_evidence for row in rows],
        "that it has ceased to hold": [row.log_change for row in rows],
    }
    with drawing(ax) as ax:
        for (label, logs), style in zip(curves.items(), styles(), strict=False):
            ax.plot(numbers, np.exp(np.clip(logs, _LOWEST, _HIGHEST)), label=label, **style)
        ax.axhline(1 / alpha, color=GREY, linewidth=0.9, linestyle=":", label=f"alarm: {1 / alpha:g}")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(import_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True))
        dress(ax, title=title, xlabel="deployed tasks", ylabel="evidence")
    return ax
