"""A plan as a picture: what each number of rollouts per task leads to."""

from typing import Any

from jaxcert._extras import import_extra
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
