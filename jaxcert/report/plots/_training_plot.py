"""Certified performances along a budget, and along training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import floor_figures
from jaxcert.planning import Plan
from jaxcert.report.plots._axes import MARKERS, drawing, dress, styles


def plot_plan(plan: Plan, *, ax: Any = None) -> Any:
    """Draw the objective of a plan, or what the wanted certificate costs, against the number of rollouts per task.

    Args:
        plan: of `jaxcert.planning.plan`.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, safety=0.9, budget=500, designs=("betting",))
        >>> plot_plan(found).get_ylabel()
        'expected certified return'
    """
    by_cost = plan.question.threshold is not None and plan.question.safety is not None
    names = dict.fromkeys(option.design.name for option in plan.considered)
    with drawing(ax) as ax:
        for place, (name, style) in enumerate(zip(names, styles(), strict=False)):
            options = [option for option in plan.considered if option.design.name == name]
            shown = [option for option in options if not by_cost or option.value >= plan.power]
            rollouts = [option.design.num_rollouts for option in shown]
            heights = [option.cost if by_cost else option.value for option in shown]
            ax.plot(rollouts, heights, marker=MARKERS[place % len(MARKERS)], markersize=3, label=name, **style)
        ylabel = "least cost" if by_cost else plan.objective
        ax.set(xscale="log", yscale="log" if by_cost else "linear")  # costs differ by orders
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(import_extra("matplotlib.ticker", "plot").NullFormatter())
        dress(ax, title=plan.wish, xlabel="rollouts per task (sequential: at most)", ylabel=ylabel)
    return ax


if TYPE_CHECKING:
    from jaxcert.training import Checkpoint


def plot_training(checkpoints: Sequence["Checkpoint"], *, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at every checkpoint of a training run, one line per threshold.

    With the probability that the run's budget leaves, the certificates of all checkpoints hold at once.

    Args:
        checkpoints: of a `jaxcert.training.CertificationHook`, with thresholds.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: no checkpoint, or one without a certificate at thresholds.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> plot_training(hook.checkpoints)  # doctest: +SKIP
    """
    if not checkpoints or any(one.safety is None for one in checkpoints):
        raise ValueError("expected checkpoints with certificates at thresholds, at least one")
    certificates = [one.safety for one in checkpoints if one.safety is not None]
    steps, safety = [one.step for one in checkpoints], np.stack([np.asarray(one.safety) for one in certificates])
    with drawing(ax) as ax:
        for place, (threshold, style) in enumerate(zip(certificates[0].thresholds.tolist(), styles(), strict=False)):
            label = f"at least {floor_figures(threshold)}"
            ax.plot(steps, safety[:, place], marker=MARKERS[place % len(MARKERS)], markersize=3, label=label, **style)
        dress(ax, title=title, xlabel="environment steps", ylabel="certified safety 1−ε")
        ax.set_ylim(-0.02, 1.02)
    return ax
