"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert.cli._options import Quiet, several
from jaxcert.cli._plan_choice import plan_asked
from jaxcert.cli._planned import OF_SUCCESSES, PlanOutputs
from jaxcert.cli._role_options import reading_of, with_roles
from jaxcert.cli._settled import Force
from jaxcert.planning._design import DESIGNS


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
            min=1,
            metavar="G",
            help="How many trials of each task certify that at least G of PILOT's own tasks, a fixed list, reach "
            "--threshold.",
        ),
    ] = None,
    beta: Annotated[
        float | None, typer.Option(metavar="P", help="Failure probability of a lower bound, for the table.")
    ] = None,
    max_violations: Annotated[int, typer.Option(min=0, metavar="K", help="Columns of the table.")] = 3,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what each number of rollouts leads to (.png, .svg, .pdf).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the resampling.")] = 0,
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lock the best design in a protocol (.toml) for `certify`.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    *,
    roles: dict[str, Any],
) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    reading = reading_of(roles)
    given = {"delta": delta, "support": support, "threshold": threshold, "safety": safety, "budget": budget}
    given |= {"cost_per_task": cost_per_task, "cost_per_rollout": cost_per_rollout, "power": power, "seed": seed}
    given |= {"max_rollouts": max_rollouts, "design": design, "assume": assume, "against": against, "suite": suite}
    given |= {"beta": beta, "max_violations": max_violations}
    plan_asked(pilot, given, reading, PlanOutputs(json, plot, lock, force), quiet=quiet)
