"""Plots of evidence over time: against the claim of a monitor, and of policies in pairs."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import confidence
from jaxcert.report.plots._axes import GREY, drawing, dress, styles
from jaxcert.returns._labels import quoted

if TYPE_CHECKING:
    from jaxcert.monitoring import Row
    from jaxcert.rollouts import PairedTrials

_LOWEST, _HIGHEST = -14.0, 700.0  # of the logarithms that are drawn


def plot_evidence(rows: "Sequence[Row]", *, alpha: float, title: str = "", ax: Any = None) -> Any:
    """Draw the evidence against a claim after each deployed task, and the evidence of a change.

    Args:
        rows: of a `jaxcert.monitoring.Monitor`.
        alpha: its probability of a false alarm; the alarm is at evidence of 1/alpha.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

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
    return _evidence(ax, numbers, curves, {"alarm": 1 / alpha}, title=title, xlabel="deployed tasks")


def plot_pairs(trials: "PairedTrials", *, ax: Any = None) -> Any:
    """Draw the evidence that a policy is better than another, after each pair or block, by their labels in the log."""
    declared, evidence = trials.declared, trials.evidence()
    claims = [f"{one} better than {other}" for one, other in itertools.permutations(map(quoted, declared.labels), 2)]
    curves = sorted(zip(claims, np.log(evidence).T.tolist(), strict=True))  # an order that reveals no blinded policy
    level = {f"shown, with confidence {confidence(declared.delta)}": float(trials.state.goal[0])}
    how = {"title": trials.path.name, "xlabel": f"{declared.noun}s"}
    return _evidence(ax, range(len(evidence)), dict(curves), level, **how)


def _evidence(
    ax: Any, numbers: Sequence[int], curves: Mapping[str, Any], level: Mapping[str, float], **how: Any
) -> Any:
    """Draw logarithms of evidence over time by what it is evidence of, and the level at which it is enough."""
    with drawing(ax) as ax:
        for (label, logs), style in zip(curves.items(), styles(), strict=False):
            ax.plot(numbers, np.exp(np.clip(logs, _LOWEST, _HIGHEST)), label=label, **style)
        for what, enough in level.items():
            ax.axhline(enough, color=GREY, linewidth=0.9, linestyle=":", label=f"{what}: {enough:g}")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(import_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True))
        dress(ax, ylabel="evidence", **how)
    return ax
