"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert.cli import _console
from jaxcert.cli._options import Quiet, several, with_group
from jaxcert.cli._planned import (
    OF_SUCCESSES,
    PlanOutputs,
    plan_designs,
    plan_list,
    plan_two,
    show_plan,
    table_of_tasks,
)
from jaxcert.cli._role_options import reading_of, with_roles
from jaxcert.planning._known_designs import DESIGNS

_BESIDE = "--{{name}} is given with --{}, which {}; expected --threshold alone"


@with_group("outputs", PlanOutputs)
@with_roles
def plan_file(
    delta: Annotated[float, typer.Option(metavar="D", help="Failure probability of the certificate.")],
    pilot: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PILOT]",
            help="A file of returns of some tasks, as for `jaxcert certify`; without it (and --assume), a table of the "
            f"tasks that safeties need; with --threshold and --design {' or '.join(OF_SUCCESSES)}, of successes by "
            "their trials.",
        ),
    ] = None,
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Smallest and largest possible return, known in advance; 0 1 for successes."),
    ] = None,
    threshold: Annotated[float | None, typer.Option(metavar="X", help="Performance to certify.")] = None,
    safety: Annotated[list[Any] | None, several("S", "Wanted safety; several for the table")] = None,
    budget: Annotated[float | None, typer.Option(metavar="C", help="What may be spent in all.")] = None,
    cost_per_task: Annotated[float, typer.Option(metavar="C", help="Cost of a task.")] = 0.0,
    cost_per_rollout: Annotated[float, typer.Option(metavar="C", help="Cost of a rollout.")] = 1.0,
    power: Annotated[float, typer.Option(metavar="P", help="Wanted probability of the certificate.")] = 0.9,
    max_rollouts: Annotated[int, typer.Option(metavar="M", help="Most rollouts per task to consider.")] = 100,
    design: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Consider only these of {', '.join(DESIGNS)} (repeatable)."),
    ] = None,
    assume: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="MEAN SD SD",
            help="In place of PILOT: mean and standard deviation of the tasks' performances, and standard deviation of "
            "the returns of a task (0: returns are A or B).",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Returns of another policy on the same tasks: how many tasks show that PILOT is better by --threshold "
            "on average.",
        ),
    ] = None,
    suite: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="[G]",
            help="How many trials of each task certify that at least G of PILOT's own tasks, a fixed list, reach "
            "--threshold; with --against and no G, that PILOT is better by --threshold (0) on average over the list.",
        ),
    ] = None,
    beta: Annotated[
        float | None, typer.Option(metavar="P", help="Failure probability of a lower bound, for the table.")
    ] = None,
    max_violations: Annotated[int, typer.Option(min=0, metavar="K", help="Columns of the table.")] = 3,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the resampling.")] = 0,
    quiet: Quiet = False,
    *,
    outputs: PlanOutputs,
    roles: dict[str, Any],
) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    outputs.check(pilot)
    reading = reading_of(roles)
    if reading["unfinished"] is not None and pilot is None:
        raise ValueError("--unfinished is about rollouts of PILOT; expected its file")
    if suite == 0 and against is None:
        raise ValueError("--suite has no number of tasks; expected --suite G, or --against as well for two policies")
    stated = {"support": support, "delta": delta, "power": power, "seed": seed}
    of_designs = {"safety": safety, "budget": budget, "assume": assume, "design": design, "beta": beta}
    of_designs |= {"plot": outputs.plot, "lock": outputs.lock}
    with _console.warnings_on_stderr():
        if suite:
            _refuse(of_designs | {"against": against}, _BESIDE.format("suite", "counts the tasks of PILOT"))
            found = plan_list(pilot, reading, suite, threshold, **stated, max_rollouts=max_rollouts)
        elif pilot is None and assume is None:
            others = {"budget": budget, "plot": outputs.plot, "lock": outputs.lock, "against": against}
            _refuse(others, "--{name} needs PILOT or --assume")
            table = table_of_tasks(safety, threshold, design, delta=delta, beta=beta, max_violations=max_violations)
            found = table, []
        elif against is not None:
            _refuse(of_designs, _BESIDE.format("against", "compares means"))
            found = plan_two(pilot, against, reading, threshold, None if suite is None else max_rollouts, **stated)
        else:
            if beta is not None:
                raise ValueError("--beta is for the table; with a pilot, beta belongs to the plan")
            if safety and len(safety) > 1:
                raise ValueError("--safety is given several times; expected one with a pilot")
            stated |= {"threshold": threshold, "safety": safety[0] if safety else None, "max_rollouts": max_rollouts}
            stated |= {"budget": budget, "cost_per_task": cost_per_task, "cost_per_rollout": cost_per_rollout}
            stated |= {"designs": tuple(design or ()) or None}
            found = plan_designs(pilot, assume, reading, quiet=quiet, **stated)
    show_plan(found[0], outputs, found[1])


def _refuse(options: dict[str, Any], words: str) -> None:
    """Raise ValueError for an option that this plan has no use for."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(words.format(name=name))
