"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert import align_tasks
from jaxcert._files import check_output, write_whole
from jaxcert.certificates._attained import ATTAINED
from jaxcert.cli import _console, _tables
from jaxcert.cli._lock_command import protocol_of, write_locked
from jaxcert.cli._options import EpisodeColumn, Quiet, TaskColumn, ValueColumn, columns_of, several, write_plot
from jaxcert.cli._settled import Force, Writing, check_distinct, check_new
from jaxcert.planning import (
    Assumptions,
    Plan,
    SuccessTable,
    TaskTable,
    plan,
    plan_difference,
    success_table,
    task_table,
)
from jaxcert.planning._design import DESIGNS
from jaxcert.planning._pilot import support_of
from jaxcert.report import ReturnsFile, check_figure_path, plot_plan, read_returns

_SAFETIES = [0.8, 0.9, 0.95, 0.99]
_NO_SUPPORT = "--support is not given; expected the smallest and the largest possible return, 0 1 for successes"


def plan_file(
    delta: Annotated[float, typer.Option(metavar="D", help="Failure probability of the certificate.")],
    pilot: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PILOT]",
            help="A file of returns of some tasks, as for `jaxcert certify`; without it (and --assume), a table of the "
            "tasks that safeties need; with --threshold and --design attained, of successes by their trials.",
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
    beta: Annotated[
        float | None, typer.Option(metavar="P", help="Failure probability of a lower bound, for the table.")
    ] = None,
    max_violations: Annotated[int, typer.Option(min=0, metavar="K", help="Columns of the table.")] = 3,
    task_column: TaskColumn = None,
    episode_column: EpisodeColumn = None,
    value_column: ValueColumn = None,
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
) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    _check_outputs(json, plot, lock)
    check_distinct(("PILOT", pilot), ("--json", json), ("--plot", plot), ("--lock", lock))
    check_new(json, plot, force=force)
    check_new(lock, force=False)
    if pilot is None and assume is None:
        _refuse_for_a_table(budget=budget, plot=plot, lock=lock, against=against)
        safeties = np.asarray(safety or _SAFETIES)
        if threshold is not None and design == [ATTAINED.name]:
            table = success_table(safeties, threshold=threshold, delta=delta)
        else:
            _refuse_for_a_table(threshold=threshold)
            table = task_table(safeties, delta=delta, beta=beta, max_violations=max_violations)
        _write(json, table.to_dict(), replace=force)
        _print_table(table)
        return
    if against is not None:
        others = {"safety": safety, "budget": budget, "plot": plot, "lock": lock, "assume": assume, "design": design}
        _refuse_for_two(**others, beta=beta)
        assert pilot is not None
        columns = columns_of(task_column, episode_column, value_column)
        _plan_two(
            (pilot, against), columns, threshold, json, force, support=support, delta=delta, power=power, seed=seed
        )
        return
    settings = {
        "threshold": threshold,
        "safety": _only(safety),
        "budget": budget,
        "cost_per_task": cost_per_task,
        "cost_per_rollout": cost_per_rollout,
        "power": power,
        "max_rollouts": max_rollouts,
        "designs": tuple(design) if design else None,
        "seed": seed,
    }
    if beta is not None:
        raise ValueError("--beta is for the table; with a pilot, beta belongs to the plan")
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        known = _known(pilot, assume, **columns_of(task_column, episode_column, value_column))
        if support_of(known, support) is None:
            raise ValueError(_NO_SUPPORT)
        show("planning")
        found = plan(known, support=support or (0, 1), delta=delta, **settings)
        written = Writing()
        if plot:
            written.attempt(write_plot, plot, plot_plan(found), replace=force)
        written.attempt(_write, json, json_format.loads(found.to_json()), replace=force)
    _print_plan(found)
    if lock:
        written.attempt(write_locked, lock, protocol_of(found))
    written.check()


def _check_outputs(json: Path | None, plot: Path | None, lock: Path | None) -> None:
    for path in (json, lock):
        if path:
            check_output(path)
    if plot:
        check_figure_path(plot)


def _refuse_for_a_table(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name} needs PILOT or --assume")


def _refuse_for_two(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name} is given with --against, which compares means; expected --threshold alone")


def _plan_two(
    files: tuple[Path, Path], columns: dict[str, Any], margin: float | None, json: Path | None, force: bool, **rest: Any
) -> None:
    """How many tasks show that the first policy is better than the second."""
    if margin is None:
        raise ValueError("--threshold is not given; expected the wanted difference of the two policies")
    a, b = align_tasks(*(_complete(file, read_returns(file, **columns)) for file in files))
    if support_of(a.returns, rest["support"]) is None:
        raise ValueError(_NO_SUPPORT)
    with _console.warnings_on_stderr():
        found = plan_difference(a.returns, b.returns, margin, **rest)
    _write(json, found.to_dict(), replace=force)
    heading, *_ = str(found).splitlines()
    _console.output().print(heading, "")
    _console.output().print(_tables.plain_table(found.columns()), soft_wrap=False, crop=False)
    for remark in found.remarks():
        _console.output().print(remark)


def _only(safety: list[float] | None) -> float | None:
    if safety and len(safety) > 1:
        raise ValueError("--safety is given several times; expected one with a pilot")
    return safety[0] if safety else None


def _known(pilot: Path | None, assume: tuple[float, float, float] | None, **columns: Any) -> Any:
    if pilot is not None and assume is not None:
        raise ValueError("PILOT and --assume are both given; expected one of them")
    if assume is not None:
        mean, of_tasks, of_rollouts = assume
        return Assumptions(mean, of_tasks, of_rollouts or None)
    assert pilot is not None
    return _complete(pilot, read_returns(pilot, **columns)).returns


def _complete(file: Path, data: ReturnsFile) -> ReturnsFile:
    if data.where is not None and not np.all(data.where):
        raise ValueError(f"{file}: some tasks have fewer rollouts than others; expected as many of each in a pilot")
    return data


def _write(path: Path | None, document: dict[str, Any], *, replace: bool) -> None:
    if path:
        text = json_format.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
        write_whole(path, f"{text}\n".encode(), replace=replace)


def _print_table(table: TaskTable | SuccessTable) -> None:
    console = _console.output()
    if isinstance(table, SuccessTable):
        how, said = f" at {table.threshold:g}, by trials of each; delta {table.delta:g}", table.remarks()
    else:
        beta = "its default" if table.beta is None else f"{table.beta:g}"
        how, said = f", by violations; delta {table.delta:g}, beta {beta}", []
    console.print(f"The fewest tasks that certify a safety{how}", "")
    console.print(_tables.plain_table(table.columns()), soft_wrap=False, crop=False)
    for remark in said:
        console.print(remark)


def _print_plan(found: Plan) -> None:
    console = _console.output()
    console.print(f"Wanted: {found.wish}", "")
    console.print(_tables.plain_table(found.columns(), is_wide=True), "", soft_wrap=False, crop=False)
    for remark in found.remarks():
        console.print(remark)
