"""`jaxcert certify` once its options are read: what is asked, the returns, the answers, their files."""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.cli import _console
from jaxcert.cli._advised import advice_of
from jaxcert.cli._asking import asked_name
from jaxcert.cli._certified import (
    ASKED,
    Asked,
    asked_of,
    certified,
    check_asked,
    check_listed_data,
    findings_of,
    gated_of,
    print_answers,
)
from jaxcert.cli._certify_outputs import Found, Outputs, write_outputs
from jaxcert.cli._parquet_folder import FolderOptions
from jaxcert.cli._question_options import check_rows
from jaxcert.cli._role_options import columns_in
from jaxcert.cli._settled import check_design, completed, settled, settled_roles
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol
from jaxcert.tables._readers import policies_of


class Wish(NamedTuple):
    """What is asked, as it was typed.

    Attributes:
        settings: by their names: numbers that are fixed beforehand, support, delta, beta, bound, method, the name of
            the question, and options that few questions have.
        listed: whether the tasks are a fixed list; None where nothing is said.
        words: the shortcuts of questions, and whether each was given.
        wanted: the safety of which it is said why it is missed.
        require: what has to be certified, or the exit status is 1.
    """

    settings: dict[str, Any]
    listed: bool | None
    words: Mapping[str, bool]
    wanted: float | None
    require: float | None

    def with_protocol(self, protocol: Path | None) -> tuple[dict[str, Any], Protocol | None]:
        """The settings with the name of the question, and what a protocol locked of them."""
        numbers = {"threshold": self.settings["thresholds"], "safety": self.settings["safeties"]}
        typed, options = self.settings["question"], self.settings["options"]
        question = asked_name(typed, numbers, options, ASKED, listed=self.listed, words=self.words)
        return settled(protocol, self.settings | {"question": question})


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


def certify_returns(source: Source, wish: Wish, protocol: Path | None, wanted: Outputs, *, quiet: bool) -> None:
    """Certify, write the files that are wanted, and print; exit with 1 where less is certified than required."""
    source.folder.check(source.file, wanted.report)
    wanted.check(source.file, protocol)
    stated, locked = wish.with_protocol(protocol)
    columns = settled_roles(protocol, locked, source.roles)
    asked = asked_of(stated)
    gated = gated_of(wish.require, asked)
    check_asked(asked, wish.wanted, wanted)
    if source.by is not None:
        _check_groups(protocol, wanted)
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        groups = source.groups(columns)
        each = _each_delta(stated, len(groups))
        answers = {
            group: _found(source, wish, each, locked, asked, own, protocol, show) for group, own in groups.items()
        }
        show("writing")
        write_outputs(wanted, answers)
    if not wanted.to_stdout:
        # Last, so that a failure leaves no incomplete output.
        print_answers(answers, source.by, stated["delta"])
    for found in answers.values():
        for name in gated:
            check_rows(wish.require or 0.0, found.certificates[name], QUESTIONS[name])


def _check_groups(protocol: Path | None, wanted: Outputs) -> None:
    """Raise ValueError for what there is of one group alone."""
    if protocol is not None:
        raise ValueError("--by is not in a protocol; expected one of each group, or --where with one of them")
    if wanted.report is not None:
        raise ValueError("--report is of one group; expected --where in place of --by, and a page of each group")


def _each_delta(stated: dict[str, Any], num_groups: int) -> dict[str, Any]:
    """The settings of each of several groups, which fail together with probability delta (theory page, union bound)."""
    delta = stated["delta"]
    if delta is None or num_groups == 1:
        return stated
    return {**stated, "delta": math.nextafter(delta / num_groups, 0.0)}


def _found(
    source: Source,
    wish: Wish,
    stated: dict[str, Any],
    locked: Protocol | None,
    asked: Asked,
    columns: dict[str, Any],
    protocol: Path | None,
    show: Any,
) -> Found:
    """The returns and what is certified of them; ``show`` tells the step."""
    show(f"reading {source.file}")
    complete = functools.partial(completed, asked.questions[0], stated)
    data = source.folder.read(source.file, complete, strict=source.strict, **columns)
    if data.columns is not None and data.columns.task == source.by:
        raise ValueError(f"--by {source.by} is the column of tasks; expected --suite --each-task to name good tasks")
    data = data.without_support(stated["support"])
    if locked is None:
        check_listed_data(data, asked, wish.listed, stated)
    asked, settings = asked.of(data), complete(data.like, data.known_support)
    check_design(protocol, locked, data)
    show(f"certifying {len(data.tasks)} tasks")
    certificates = certified(data, asked, settings, stated["options"])
    findings = findings_of(data, settings, asked.questions, strict=source.strict)
    advice = advice_of([data], settings, wish.wanted, certificates if asked.numbers else {})
    answered = (data, settings, asked.numbers, certificates, wish.wanted, advice, findings)
    return Found(*answered, locked, protocol, columns_in(columns))
