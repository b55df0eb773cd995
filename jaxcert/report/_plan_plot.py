"""A plan as a picture: what each number of rollouts per task leads to."""

from typing import Any

from jaxcert.planning import Plan
from jaxcert.report._plots import COLOURS, new_axes


def plot_plan(plan: Plan) -> Any:
    """Draw the objective of a plan, or what the wanted certificate costs, against the number of rollouts per task.

    Args:
        plan: of `jaxcert.planning.plan`.

    Returns:
        A `matplotlib.figure.Figure` that is not registered with pyplot; see `save_figure`.

    Raises:
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, safety=0.9, budget=500, designs=("betting",))
        >>> plot_plan(found).axes[0].get_ylabel()
        'expected certified return'
    """
    figure, axes = new_axes()
    by_cost = plan.question.threshold is not None and plan.question.safety is not None
    names = dict.fromkeys(option.design.name for option in plan.considered)
    for name, colour in zip(names, COLOURS, strict=False):
        options = [option for option in plan.considered if option.design.name == name]
        shown = [option for option in options if not by_cost or option.value >= plan.power]
        rollouts = [option.design.num_rollouts for option in shown]
        heights = [option.cost if by_cost else option.value for option in shown]
        axes.plot(rollouts, heights, "o-", color=colour, linewidth=1.8, markersize=4, label=name)
    axes.set(
        title=plan.wish,
        xlabel="rollouts per task (sequential: at most)",
        ylabel="least cost" if by_cost else plan.objective,
        xscale="log",
    )
    axes.title.set_fontsize(9)
    axes.xaxis.set_major_formatter("{x:g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    return figure
