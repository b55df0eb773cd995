"""`jaxcert compare`: two policies on the same tasks, from a file of returns of each."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert._files import check_output
from jaxcert.bounds._registry import BOUNDS
from jaxcert.cli import _console, _tables
from jaxcert.cli._options import (
    EpisodeColumn,
    Quiet,
    Strict,
    TaskColumn,
    ValueColumn,
    columns_of,
    level,
    several,
    write_plot,
)
from jaxcert.cli._question_options import askable, check_required, check_rows, chosen, fixed_numbers, with_options
from jaxcert.cli._settled import Force, check_distinct, check_new, completed
from jaxcert.report import certificate_record, check_figure_path, plot_certificates, read_returns, write_certificates
from jaxcert.report._recompute import ask
from jaxcert.report.plots._axes import drawing
from jaxcert.returns._prepared import is_successes

_ASKED = askable(num_inputs=2)


@with_options(_ASKED)
def compare_files(
    file_a: Annotated[Path, typer.Argument(metavar="A", help="Returns of policy A, a file as for `jaxcert certify`.")],
    file_b: Annotated[Path, typer.Argument(metavar="B", help="Returns of policy B on the same tasks.")],
    delta: Annotated[float, typer.Option(metavar="D", help="Failure probability of the certificate.")],
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Smallest and largest possible return; successes need none."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"What is asked: {', '.join(_ASKED)}. By default improvement for margins, safety_level for a safety, "
            "and else mean_difference.",
        ),
    ] = None,
    threshold: Annotated[
        list[Any] | None, several("C", "Differences for a question at thresholds, such as band", "--threshold")
    ] = None,
    safety: Annotated[
        list[Any] | None, several("S", "Certify which difference such a share of new tasks reaches", "--safety")
    ] = None,
    beta: Annotated[Any, typer.Option(metavar="P", parser=level, help="As in `jaxcert certify`.")] = None,
    bound: Annotated[str | None, typer.Option(help=f"One of {', '.join(BOUNDS)}, as far as it is for pairs.")] = None,
    method: Annotated[str | None, typer.Option(help="binomial, scenario or soft.")] = None,
    task_column: TaskColumn = None,
    episode_column: EpisodeColumn = None,
    value_column: ValueColumn = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a certificate file there.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw certified safety by margin there.")] = None,
    require: Annotated[
        float | None,
        typer.Option(metavar="S", help="Exit with status 1 unless this safety, or mean, is certified in every row."),
    ] = None,
    force: Force = False,
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    options: dict[str, Any],
) -> None:
    """Certify how much better policy A is than policy B, on the same tasks, which are matched by their labels.

    Tables name their tasks; rows of arrays are tasks in the same order.
    """
    given = {"threshold": threshold, "safety": safety}
    wanted = chosen(question or _usual(given, options), _ASKED)
    numbers = fixed_numbers(wanted, given, options)
    check_required(require, wanted)
    _check_outputs(file_a, file_b, json, plot, force=force)
    if plot and not wanted.has_curve:
        raise ValueError(f"--plot draws certified safety by margin; the question {wanted.name!r} has none")
    columns = columns_of(task_column, episode_column, value_column)
    stated = {"delta": delta, "beta": beta, "bound": bound, "method": method}
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show(f"reading {file_a} and {file_b}")
        data = [read_returns(file, strict=strict, **columns) for file in (file_a, file_b)]
        if support is None and all(is_successes(each.returns) for each in data):
            support = (0.0, 1.0)
        # A difference is no success, whatever the returns are.
        settings = completed(wanted, {**stated, "support": support}, np.zeros(1))
        show(f"comparing on {len(data[0].returns)} tasks")
        own = {name: value for name, value in options.items() if name != wanted.each}
        found = ask(wanted, data, numbers, {**settings, **own})
        if json:
            facts = {"support": settings["support"], "data": data[0], "others": data[1:], "question": wanted.name}
            write_certificates(json, [certificate_record(found, **facts)], replace=force)
        if plot:
            with drawing(None) as ax:
                write_plot(plot, plot_certificates(found, title=f"{file_a.name}, {file_b.name}", ax=ax), replace=force)
    console = _console.output()
    console.print(f"A is {file_a}, B is {file_b}: {found.num_tasks} tasks, {_tables.way(found)}")
    console.print("", _tables.answer_table(found, wanted, numbers or []), "", sep="\n", soft_wrap=False, crop=False)
    console.print(str(found))
    if require is not None:
        check_rows(require, found, wanted)


def _usual(given: dict[str, Any], options: dict[str, Any]) -> str:
    """The name of the question that is asked where none is named: by what was fixed beforehand."""
    fixed = {**given, "margin": options.get("margin")}
    numbers = [name for name in fixed if fixed[name]]
    if len(numbers) > 1:
        raise ValueError(f"{' and '.join(f'--{name}' for name in numbers)} are given; expected one of them")
    at_numbers = [name for name, question in _ASKED.items() if question.each in numbers]
    if len(at_numbers) > 1:
        expected = f"--question, one of {', '.join(at_numbers)}, or --margin for the share on which A is better"
        raise ValueError(f"--{numbers[0]} is given; expected {expected}")
    of_means = [name for name, question in _ASKED.items() if question.each is None and len(question.inputs) > 1]
    return (at_numbers or of_means)[0]


def _check_outputs(file_a: Path, file_b: Path, json: Path | None, plot: Path | None, *, force: bool) -> None:
    """Raise beforehand for files that could not be written, or exist and may not be replaced."""
    if json:
        check_output(json)
    if plot:
        check_figure_path(plot)
    check_distinct(("A", file_a), ("B", file_b), ("--json", json), ("--plot", plot))
    check_new(json, plot, force=force)
