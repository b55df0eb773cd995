"""Plots over time: certificates by training step, and evidence."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import confidence, floor_figures
from jaxcert.report.plots._axes import GREY, drawing, dress, styles
from jaxcert.returns._labels import quoted

if TYPE_CHECKING:
    from jaxcert.monitoring import Row
    from jaxcert.rollouts import PairedTrials
    from jaxcert.training import Checkpoint

_LOWEST, _HIGHEST = -14.0, 700.0  # of the logarithms that are drawn


def plot_training(checkpoints: "Sequence[Checkpoint]", *, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at every checkpoint of a training run, one line per threshold.

    With the probability that the run's budget leaves, the certificates of all checkpoints hold at once.

    Args:
        checkpoints: of a `jaxcert.training.CertificationHook`.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no checkpoint.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> from types import SimpleNamespace
        >>> import jaxcert
        >>> found = jaxcert.certify(jaxcert.sample_returns("cheetah"), [300, 500], support=(0, 1000), delta=0.01)
        >>> [line.get_label() for line in plot_training([SimpleNamespace(step=100, safety=found)]).lines]
        ['at least 300', 'at least 500']
    """
    found = [one.safety for one in checkpoints]
    if not found:
        raise ValueError("expected at least one checkpoint")
    steps, safety = [one.step for one in checkpoints], np.stack([np.asarray(each.safety) for each in found])
    thresholds = np.asarray(found[0].thresholds).tolist()
    with drawing(ax) as ax:
        for threshold, values, style in zip(thresholds, safety.T, styles(marked=True), strict=False):
            ax.plot(steps, values, label=f"at least {floor_figures(threshold)}", **style)
        dress(ax, title=title, xlabel="environment steps", ylabel="certified safety 1−ε", shares=True)
    return ax


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
