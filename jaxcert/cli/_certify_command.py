"""`jaxcert certify`: from a file of returns to printed certificates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS
from jaxcert.cli._asking import EachTask, Listed, Mean
from jaxcert.cli._certified import ASKED
from jaxcert.cli._certify_outputs import Outputs
from jaxcert.cli._certify_run import Source, Wish, certify_returns
from jaxcert.cli._options import (
    Quiet,
    Report,
    Size,
    Strict,
    TasksInReport,
    Title,
    Witness,
    check_size,
    level,
    several,
)
from jaxcert.cli._parquet_folder import Across, FolderOptions, NumBins, Processes
from jaxcert.cli._question_options import required_words, with_options
from jaxcert.cli._role_options import with_roles
from jaxcert.cli._settled import Force, ProtocolFile

_BOUNDS = [f"{bound.name} (0/1 returns)" if bound.binary else bound.name for bound in BOUNDS.values()]


@with_options(ASKED)
@with_roles
def certify_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=".npz with an array 'returns' [num_tasks, num_rollouts] (and a boolean array 'where'), .npy with that "
            "array, or a table (.csv, .tsv, .jsonl, .json, each also .gz, .parquet, .arrow) with columns such as task, "
            "trial, success. Returns of bool, or a column of true/false, yes/no, pass/fail or success/failure, are "
            "successes. Also a log of Inspect, or results of LeRobot, tau-bench, tau2-bench or EvalPlus; or, with "
            "--task-from-path, a folder of monitors or evaluations of Stable-Baselines3. Or a folder of .parquet "
            "files, for more rollouts than memory holds.",
        ),
    ],
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Smallest and largest possible return, known in advance; 0 1 for successes."),
    ] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="Failure probability of the certificate.")] = None,
    threshold: Annotated[
        list[Any] | None,
        several("X", "Performance to certify; without any, the curve"),
    ] = None,
    safety: Annotated[
        list[Any] | None,
        several("S", "Share of new tasks to certify a performance for"),
    ] = None,
    beta: Annotated[
        Any,
        typer.Option(
            metavar="P",
            parser=level,
            help="Failure probability of one task's lower bound. By default 0.05 for thresholds, what costs nothing "
            "for safeties, delta / num_tasks with scenario; auto chooses one for each threshold. With soft, the "
            "weight of the evidence; with attained, one for each threshold or safety by default.",
        ),
    ] = None,
    bound: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(_BOUNDS)}; by default betting, or the one for the method or successes."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}; by default binomial, or attained for successes; it "
            "reads returns of 0 and 1 as such."
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"What is asked: {', '.join(ASKED)}. By default safety of thresholds, safety_level of safeties.",
        ),
    ] = None,
    listed: Listed = None,
    mean: Mean = False,
    each_task: EachTask = False,
    protocol: ProtocolFile = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Answer for each group of rows by itself, as a column of a table tells them; all groups together fail "
            "with probability delta.",
        ),
    ] = None,
    wanted: Annotated[
        float | None,
        typer.Option(metavar="S", help="Safety wanted at the thresholds: where it is missed, say why."),
    ] = None,
    num_bins: NumBins = None,
    across: Across = None,
    processes: Processes = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a certificate file there; - for stdout.")
    ] = None,
    witness: Witness = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw certified safety there (.png, .svg, .pdf).")
    ] = None,
    report: Report = None,
    tasks_in_report: TasksInReport = False,
    require: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help=f"{required_words(ASKED)} Without --question, it is the safety at the thresholds.",
        ),
    ] = None,
    force: Force = False,
    title: Title = None,
    plot_size: Size = None,
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    options: dict[str, Any],
    roles: dict[str, Any],
) -> None:
    """Certify the returns in FILE."""
    check_size(plot_size)
    settings = {"thresholds": threshold, "safeties": safety, "support": support, "delta": delta, "beta": beta}
    settings |= {"bound": bound, "method": method, "question": question, "options": options}
    source = Source(file, FolderOptions(num_bins, across, processes), roles, strict, by)
    wish = Wish(settings, listed, {"mean": mean, "each-task": each_task}, wanted, require)
    outputs = Outputs(json, plot, report, title, plot_size, force, witness, tasks_in_report)
    certify_returns(source, wish, protocol, outputs, quiet=quiet)
