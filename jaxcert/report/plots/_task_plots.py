"""Plots by task, and of plans."""

from collections.abc import Mapping
from typing import Any

import chex
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.planning import Plan
from jaxcert.report.plots._axes import drawing, dress, styles


def plot_bounds(
    lower_bounds: Mapping[str, chex.Array], *, performances: chex.Array | None = None, title: str = "", ax: Any = None
) -> Any:
    """Draw per-task lower bounds beside each other, tasks in the order of their performance.

    Args:
        lower_bounds: by their label in the legend, float[n] each, of the same tasks; -inf is not drawn.
        performances: float[n], exact or as the mean of the returns. Without any, each bound is sorted by itself.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no bound, or arrays that are not [n] with the same n.
        ImportError: matplotlib is missing (extra `plot`).

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


def plot_plan(plan: Plan, *, ax: Any = None) -> Any:
    """Draw the objective of a plan, or what the wanted certificate costs, against the number of rollouts per task.

    Args:
        plan: of `jaxcert.planning.plan`.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, safety=0.9, budget=500, designs=("betting",))
        >>> plot_plan(found).get_ylabel()
        'expected certified return'
    """
    by_cost = plan.objective == "power"
    names = dict.fromkeys(design.name for design in plan.considered)
    with drawing(ax) as ax:
        for name, style in zip(names, styles(marked=True), strict=False):
            of_name = [one for one in plan.considered if one.name == name]
            shown = [one for one in of_name if not by_cost or one.value >= (plan.power or 0)]
            rollouts = [design.num_rollouts for design in shown]
            heights = [design.cost if by_cost else design.value for design in shown]
            ax.plot(rollouts, heights, label=name, **style)
        ylabel = "least cost" if by_cost else plan.objective
        ax.set(xscale="log", yscale="log" if by_cost else "linear")  # costs differ by orders
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(import_extra("matplotlib.ticker", "plot").NullFormatter())
        title = plan.heading.removeprefix("Wanted: ")
        dress(ax, title=title, xlabel="rollouts per task (sequential: at most)", ylabel=ylabel)
    return ax
