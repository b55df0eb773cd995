"""`jaxcert certify`: from a file of returns to printed certificates."""

import functools
from pathlib import Path
from typing import Any

from jaxcert.cli._answering import answer_files
from jaxcert.cli._asking import Asking, askable, asked_of, with_asking
from jaxcert.cli._options import IGNORE, STRICT, argument, columns_of, option, reading_of, with_group, with_roles
from jaxcert.cli._outputs import Outputs
from jaxcert.cli._reading import FolderOptions, checked
from jaxcert.cli._request import Locked, Request, completed
from jaxcert.report import Protocol
from jaxcert.tables import ReturnsFile


@with_asking(askable(1))
@with_group("folder", FolderOptions)
@with_group("outputs", Outputs)
@with_roles
def command(
    file: Path = argument(
        "FILE",
        ".npz with an array 'returns' [num_tasks, num_rollouts] (and a boolean array 'where'), .npy with that "
        "array, or a table (.csv, .tsv, .jsonl, .json, each also .gz, .parquet, .arrow) with columns such as task, "
        "trial, success. Returns of bool, or a column of true/false, yes/no, pass/fail or success/failure, are "
        "successes. Also a log of Inspect, or results of LeRobot, tau-bench, tau2-bench or EvalPlus; or, with "
        "--task-from-path, a folder of monitors or evaluations of Stable-Baselines3. Or a folder of .parquet "
        "files, for more rollouts than memory holds.",
    ),
    protocol: Path | None = option("FILE", "Settings that were locked beforehand; others are refused."),
    by: str | None = option(
        "NAME",
        "Answer for each group of rows by itself, as a column of a table tells them; all groups together fail "
        "with probability delta.",
    ),
    wanted: float | None = option("S", "Wanted safety at the thresholds; explain where it is missed."),
    strict: bool = STRICT,
    ignore: list[str] | None = IGNORE,
    *,
    asking: Asking,
    folder: FolderOptions,
    outputs: Outputs,
    roles: dict[str, Any],
) -> None:
    """Certify the returns in FILE."""
    folder.check(file, outputs.report)
    outputs.check(("FILE", file), ("--protocol", protocol))
    locked = None if protocol is None else Locked(protocol, Protocol.read(protocol))
    asking = asking.named(strata=None if locked else roles["strata"])
    if locked is not None:
        asking, roles = locked.settle(asking), locked.roles(roles)
    request = Request(asking, asked_of(asking), reading_of(roles), outputs, wanted, locked, strict, by)
    complete = functools.partial(completed, request.questions[0], asking)

    def read(**given: Any) -> list[ReturnsFile]:
        columns = columns_of(request.metrics, given)
        data = [folder.read(file, complete, strict=strict, **each) for each in columns]
        return checked(data, strict=strict, ignored=ignore)

    answer_files(request, file, read)
