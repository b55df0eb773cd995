"""`jaxcert certify` once its options are read: what is asked, the returns, the answers, their files."""

import functools
import math
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.cli import _console
from jaxcert.cli._asking import Asked, Asking, asked_of
from jaxcert.cli._certified import (
    ASKED,
    certified,
    check_asked,
    check_listed_data,
    check_required_rows,
    findings_of,
    print_answers,
)
from jaxcert.cli._certify_outputs import Found, write_outputs
from jaxcert.cli._outputs import Outputs
from jaxcert.cli._parquet_folder import FolderOptions
from jaxcert.cli._settled import check_design, completed, settled, settled_roles
from jaxcert.report import Protocol
from jaxcert.tables._readers import policies_of


class Source(NamedTuple):
    """Where the returns are, and how they are read: the roles that were given, and the column of groups."""

    file: Path
    folder: FolderOptions
    roles: dict[str, Any]
    strict: bool
    by: str | None = None

    def groups(self, columns: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The roles by which each group is read, by its name; all rows are one group without a name."""
        if self.by is None:
            return {"": columns}
        only = [] if columns["only"] is None else [f"{columns['policy']} = {columns['only']}"]
        found = policies_of(self.file, self.by, (*columns["where"], *only))
        return {name: {**columns, "where": (*columns["where"], f"{self.by} = {name}")} for name in found}


def certify_returns(
    source: Source, asking: Asking, safety: float | None, protocol: Path | None, wanted: Outputs, *, quiet: bool
) -> None:
    """Certify, write the files that are wanted, and print; exit with 1 where less is certified than required.

    ``safety``: the one of which it is said why it is missed.
    """
    source.folder.check(source.file, wanted.report)
    wanted.check(("FILE", source.file), ("--protocol", protocol))
    asking, locked = settled(protocol, asking.named())
    columns = settled_roles(protocol, locked, source.roles)
    asked = asked_of(asking, ASKED)
    gated = asked.gated(asking.require)
    check_asked(asked, safety, wanted)
    if source.by is not None:
        _check_groups(protocol, wanted)
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        groups = source.groups(columns)
        each = _each_delta(asking, len(groups))
        answers = {
            group: _found(source, each, safety, locked, asked, own, protocol, show) for group, own in groups.items()
        }
        show("writing")
        write_outputs(wanted, answers)
    if not wanted.to_stdout:
        # Last, so that a failure leaves no incomplete output.
        print_answers(answers, source.by, asking.delta)
    for found in answers.values():
        check_required_rows(asking.require, gated, found)


def _check_groups(protocol: Path | None, wanted: Outputs) -> None:
    """Raise ValueError for what there is of one group alone."""
    if protocol is not None:
        raise ValueError("--by is not in a protocol; expected one of each group, or --where with one of them")
    if wanted.report is not None:
        raise ValueError("--report is of one group; expected --where in place of --by, and a page of each group")


def _each_delta(asking: Asking, num_groups: int) -> Asking:
    """The settings of each of several groups, which fail together with probability delta (theory page, union bound)."""
    if asking.delta is None or num_groups == 1:
        return asking
    return asking._replace(delta=math.nextafter(asking.delta / num_groups, 0.0))


def _found(
    source: Source,
    asking: Asking,
    safety: float | None,
    locked: Protocol | None,
    asked: Asked,
    columns: dict[str, Any],
    protocol: Path | None,
    show: Any,
) -> Found:
    """The returns and what is certified of them; ``show`` tells the step."""
    show(f"reading {source.file}")
    complete = functools.partial(completed, asked.questions[0], asking)
    data = source.folder.read(source.file, complete, strict=source.strict, **columns)
    if data.columns is not None and data.columns.task == source.by:
        raise ValueError(f"--by {source.by} is the column of tasks; expected --suite --each-task to name good tasks")
    data = data.without_support(asking.support)
    if locked is None:
        check_listed_data([data], asked, asking)
    asked, settings = asked.of(data), complete(data.like, data.known_support)
    check_design(protocol, locked, data)
    show(f"certifying {len(data.tasks)} tasks")
    found = certified([data], asked, settings, asking.options, columns, safety)
    findings = findings_of(data, settings, asked.questions, strict=source.strict)
    return found._replace(findings=findings, protocol=locked, protocol_file=protocol)
