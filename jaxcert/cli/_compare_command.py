"""`jaxcert compare`: two policies on the same tasks, from a file of returns of each."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert.bounds._registry import BOUNDS
from jaxcert.cli._asking import EachTask, Listed, Mean
from jaxcert.cli._compared import (
    PairOutputs,
    asked_of_two,
    compared,
    print_comparison,
)
from jaxcert.cli._compared_several import BoardOutputs, print_leaderboard, refuse_for_a_board
from jaxcert.cli._options import (
    Quiet,
    Report,
    Strict,
    TasksInReport,
    Title,
    level,
    several,
)
from jaxcert.cli._question_options import (
    askable,
    check_required,
    check_rows,
    fixed_numbers,
    required_words,
    with_options,
)
from jaxcert.cli._reading import sources_of
from jaxcert.cli._role_options import reading_of, with_roles
from jaxcert.cli._settled import Force
from jaxcert.report._leaderboard import board_of

_ASKED = askable(num_inputs=2)


@with_options(_ASKED)
@with_roles
def compare_files(
    file_a: Annotated[Path, typer.Argument(metavar="A", help="Returns of policy A, a file as for `jaxcert certify`.")],
    delta: Annotated[
        float, typer.Option(metavar="D", help="Failure probability of the certificate, or of a whole leaderboard.")
    ],
    file_b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[B]", help="Returns of policy B on the same tasks; none with --policy.", show_default=False
        ),
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[C]...",
            help="Returns of more policies on the same tasks: a leaderboard, with the certified mean of each, what is "
            "certified of it at --threshold, and which policies it is certified to be at least as good as.",
            show_default=False,
        ),
    ] = None,
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
        list[Any] | None,
        several(
            "C", "Differences for a question at thresholds, such as band; in a leaderboard performances", "--threshold"
        ),
    ] = None,
    safety: Annotated[
        list[Any] | None, several("S", "Certify which difference such a share of new tasks reaches", "--safety")
    ] = None,
    listed: Listed = None,
    mean: Mean = False,
    each_task: EachTask = False,
    beta: Annotated[Any, typer.Option(metavar="P", parser=level, help="As in `jaxcert certify`.")] = None,
    bound: Annotated[str | None, typer.Option(help=f"One of {', '.join(BOUNDS)}, as far as it is for pairs.")] = None,
    method: Annotated[str | None, typer.Option(help="binomial, scenario or soft.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a certificate file there.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw certified safety by margin there.")] = None,
    report: Report = None,
    tasks_in_report: TasksInReport = False,
    title: Title = None,
    require: Annotated[
        float | None,
        typer.Option(metavar="X", help=f"{required_words(_ASKED)} Thresholds and means are differences."),
    ] = None,
    force: Force = False,
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    options: dict[str, Any],
    roles: dict[str, Any],
) -> None:
    """Certify how much better policy A is than policy B, on the same tasks, which are matched by their labels.

    Of three policies or more it prints a leaderboard, whose statements hold together with confidence 1 - D. Tables name
    their tasks; rows of arrays are tasks in the same order.
    """
    files, stated = [file_a, *([] if file_b is None else [file_b, *(others or [])])], {"support": support}
    stated |= {"delta": delta, "beta": beta}
    stated |= {"bound": bound, "method": method}
    reading = {**reading_of(roles), "strict": strict}
    sources = sources_of(files, reading)
    if len(sources) > 2:
        of_two = {"question": question, "safety": safety, "each_task": each_task, "unfinished": roles["unfinished"]}
        refuse_for_a_board(len(sources), **of_two, plot=plot, require=require, **options)
        board, wanted = board_of(threshold, listed, len(sources)), BoardOutputs(json, report, title, force)
        print_leaderboard(sources, board, stated, reading, wanted, listed=listed, quiet=quiet)
        return
    given, words = {"threshold": threshold, "safety": safety}, {"mean": mean, "each-task": each_task}
    asked = asked_of_two(question, given, options, _ASKED, listed=listed, words=words)
    numbers = fixed_numbers(asked, given, options)
    check_required(require, asked)
    wanted = PairOutputs(json, plot, report, title, force, tasks_in_report)
    found = compared(
        sources,
        asked,
        numbers,
        stated,
        options,
        wanted,
        reading,
        listed=listed,
        quiet=quiet,
    )
    print_comparison(found, numbers or [])
    if require is not None:
        check_rows(require, found.answer, asked)
