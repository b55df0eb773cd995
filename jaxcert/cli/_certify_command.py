"""`jaxcert certify`: from a file of returns to printed certificates."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.cli._asking import SETTLED, Asking, askable, asked_of, with_asking
from jaxcert.cli._options import (
    IGNORE,
    STRICT,
    RoleOptions,
    argument,
    checked_columns,
    columns_of,
    option,
    options,
    reading_of,
    with_group,
    with_roles,
)
from jaxcert.cli._outputs import Outputs, answer_request
from jaxcert.cli._request import Request
from jaxcert.cli._settings import completed
from jaxcert.report import Protocol
from jaxcert.report._protocol_check import of_files
from jaxcert.tables import ReturnsFile, read_returns, read_summary
from jaxcert.tables._read_summary import type_in_folder
from jaxcert.tables._readers import holds_parquet
from jaxcert.tables._roles import Columns

_COLUMNS = ("task", "value", "strata")
_NOT_LOCKED = ("where", "only", "successes", "trials", "records", "recipe")


@options
class FolderOptions(NamedTuple):
    """The options for a folder of Parquet files, which is read as a summary."""

    num_bins: int | None = option(
        "N", "Of a folder: returns are rounded down to one of N + 1 values, by default 100; 1 for returns of 0 and 1."
    )
    across: list[str] | None = option("NAME", "Of a folder: a partition that does not tell tasks apart.")

    def check(self, path: Path, report: Path | None) -> None:
        """Raise ValueError beforehand for options of a folder given for a file, or a page of a folder."""
        if holds_parquet(path) and report is not None:
            raise ValueError("--report shows single rollouts, which are not kept of a folder")
        given = [name for name, value in self._asdict().items() if value not in (None, [])]
        if given and path.exists() and not holds_parquet(path):
            options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ValueError(f"{options} given for {path}; expected a folder of Parquet files for it")

    def read(
        self, path: Path, complete: Callable[[np.ndarray], dict[str, Any]], *, strict: bool, **columns: Any
    ) -> ReturnsFile:
        """Read any FILE: a file, files of one task each, or a folder of Parquet files, of which it gives a summary.

        ``complete`` gives the settings for returns, from an array of their type, before a folder is read.
        """
        if not holds_parquet(path) or "{" in columns["task"]:
            return read_returns(path, strict=strict, **columns)
        if columns.get("metric"):
            raise ValueError(
                f"{path}: is a folder of Parquet files, of which requirements are not asked; expected a file"
            )
        others = [name for name in RoleOptions._fields if name not in Columns._fields]
        if given := [f"--{name}" for name in others if columns.get(name) not in (None, ())]:
            told = " and ".join(given)
            raise ValueError(f"{told} given for {path}, a folder of Parquet files; expected a file for it")
        options: dict[str, Any] = {"task": columns["task"], "value": columns["value"], "across": self.across or ()}
        support = complete(np.empty(0, type_in_folder(path, **options))).get("support")
        ends = None if support is None else (float(support[0]), float(support[1]))
        options |= {} if self.num_bins is None else {"num_bins": self.num_bins}
        return read_summary(path, support=ends, strict=strict, **options)


class Locked(NamedTuple):
    """A protocol, and its file."""

    path: Path
    protocol: Protocol

    def refuse(self, differences: Sequence[str]) -> None:
        """Raise ValueError if anything differs from the protocol."""
        if differences:
            raise ValueError(f"{self.path}: {'; '.join(differences)}")

    def settle(self, asking: Asking) -> Asking:
        """The protocol's question and settings; a contradiction is an error."""
        found = {"thresholds": asking.threshold, "safeties": asking.safety, **asking.settled}
        self.refuse(self.protocol.contradictions(found))
        settled = {name: getattr(self.protocol, name) for name in SETTLED}
        return asking._replace(threshold=self.protocol.thresholds, safety=self.protocol.safeties, **settled)

    def roles(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of columns, which an option must not contradict."""
        self.refuse(self.protocol.contradictions({name: given[name] for name in _COLUMNS}))
        picked = [f"--{name}" for name in _NOT_LOCKED if given[name]]
        self.refuse([f"{' and '.join(picked)} given, which a protocol does not lock"] if picked else [])
        return {**given, **{name: given[name] or getattr(self.protocol, name) for name in _COLUMNS}}


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
    held = {} if locked is None else {"protocol": locked.path, "digest": locked.protocol.digest}
    request = Request(asking, asked_of(asking), reading_of(roles), wanted, strict=strict, by=by, **held)
    complete = functools.partial(completed, request.questions[0], asking.settled)

    def read(**given: Any) -> list[ReturnsFile]:
        columns = columns_of(request.metrics, given)
        data = [folder.read(file, complete, strict=strict, **each) for each in columns]
        if locked is not None:
            locked.refuse(of_files(locked.protocol, data))
        return checked_columns(data, strict=strict, ignored=ignore)

    answer_request(request, outputs, file, read)
