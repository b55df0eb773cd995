"""Read files of returns for all commands, with the options for columns, and report on files of other tools."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.cli._options import option, options, others_given
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile, align_tasks, read_returns, read_summary
from jaxcert.tables._doubts import listed, told_of
from jaxcert.tables._entries import check_told_apart, closely
from jaxcert.tables._read_summary import type_in_folder
from jaxcert.tables._readers import holds_parquet, policies_of
from jaxcert.tables._returns import names_of

_MOST_SHOWN = 80  # characters of an entry


def as_stated(files: Sequence[ReturnsFile], support: Any) -> list[ReturnsFile]:
    """The files as successes, if no support is declared and the numbers of all of them are 0 or 1; else as they are."""
    found = [file.with_successes(support) for file in files]
    return found if all(is_successes(each.returns) for each in found) else list(files)


class PolicySource(NamedTuple):
    """The place of a policy's returns: a file, or its rows in a table of several policies."""

    file: Path
    only: str | None = None
    called: str | None = None

    def read(self, **options: Any) -> ReturnsFile:
        """The returns, with these options."""
        data = read_returns(self.file, **(options if self.only is None else {**options, "only": self.only}))
        return dataclasses.replace(data, called=self.called)


def sources_of(files: Sequence[Path], reading: Mapping[str, Any], names: str | None = None) -> list[PolicySource]:
    """The policies that are compared: a file each, or the entries of a column of one file."""
    policy = reading["policy"]
    called = [name.strip() for name in names.split(",")] if names else [None] * len(files)
    if names and policy is not None:
        raise ValueError("--names is for files; expected none with --policy, whose column names the policies")
    different = {*map(closely, called)}  # for who reads them
    if names and not (len(different) == len(called) == len(files) and all(x and x.isprintable() for x in called)):
        raise ValueError(f"--names is {names!r:.60}; expected {len(files)} different names, with commas between them")
    if policy is None:
        if len(files) < 2:
            raise ValueError(
                "one file is given; expected a file of each policy, or --policy COLUMN for one file of all"
            )
        return [PolicySource(file, called=name) for file, name in zip(files, called, strict=True)]
    if len(files) > 1:
        raise ValueError("--policy is the column of all policies in one file; expected one file")
    found = policies_of(files[0], policy, reading["where"], reading["records"])
    if reading["only"] is not None:
        found = _chosen(found, reading["only"])
    if "" in found:
        raise ValueError(f"{files[0]}: column {policy} has blank entries; expected the policy of each row, or --where")
    if len(found) < 2:
        raise ValueError(
            f"{files[0]}: column {policy} names {listed(map(repr, found)) or 'no policy'}; expected two or more"
        )
    return [PolicySource(files[0], each) for each in found]


def _chosen(found: Sequence[str], only: str) -> list[str]:
    """The policies that are named, with commas between them, in this order: of two the first one is A."""
    names = [name.strip() for name in only.split(",")]
    if len(names) < 2 or len({*names}) < len(names) or not {*names} <= {*found}:
        raise ValueError(f"--only is {only!r:.60}; expected two or more of {listed(found)}, with commas between them")
    return names


def read_all(
    policies: Sequence[PolicySource], *, ignored: Sequence[str] | None = None, **options: Any
) -> list[ReturnsFile]:
    """The returns of policies on the same tasks; with ``strict``, warnings of ``align_tasks`` are errors.

    No ``ignored`` column is compared.
    """
    files = [each.read(**options) for each in policies]
    check_told_apart(names_of(files), "policies are named")
    with told_of("", options.get("strict", False), 2):
        align_tasks(*(_without(file, ignored or ()) for file in files))
    return files


def _without(file: ReturnsFile, columns: Sequence[str]) -> ReturnsFile:
    left = ({name: each for name, each in of.items() if name not in columns} for of in (file.constant, file.of_tasks))
    return dataclasses.replace(file, **dict(zip(("constant", "of_tasks"), left, strict=True)))


def checked(files: Sequence[ReturnsFile], *, strict: bool, ignored: Sequence[str] | None) -> list[ReturnsFile]:
    """The files; with ``strict``, ValueError for columns that may separate policies, and are not read or ignored."""
    for file in files if strict else ():
        if names := [name for name in _unread(file, files) if name not in (ignored or ())]:
            raise ValueError(
                f"{file._name}: not read: {_names(names)}, in which policies or conditions may differ; "
                "expected --where or --policy, or --ignore for a column that tells none apart"
            )
    return list(files)


def _unread(file: ReturnsFile, files: Sequence[ReturnsFile]) -> list[str]:
    """Columns of a file that may separate policies, and are not read from any of the files."""
    read = {each.columns.value for each in files if each.columns}
    return [name for name in file.unread if name not in read]


def _names(names: Sequence[str]) -> str:
    """All of them, on one line."""
    return ", ".join("".join(each if each.isprintable() else "?" for each in name) for name in names)


def told(*files: ReturnsFile) -> list[str]:
    """Lines about files: the read columns, and unread ones that may separate policies; with names, if they differ."""
    several, lines = len({file._name for file in files}) > 1, []
    for file in files:
        unread, constant = _unread(file, files), file.constant.items()
        same = [f"{name} {entry:.{_MOST_SHOWN}}" for name, entry in constant if entry and name != file.roles.policy]
        of_unread = f"not read, so all rows count as one policy: {_names(unread)}" if unread else ""
        of_same = f"not read, the same in all rows: {_names(same)}" if same else ""
        lines += [f"{file._name}: {line}" if several else line for line in (file.told, of_unread, of_same) if line]
    return [*dict.fromkeys(lines)]


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
        """The returns of a file, or of files of one task each; or the summary of a folder of Parquet files.

        ``complete`` gives the settings for returns, from an array of their type, before a folder is read.
        """
        if not holds_parquet(path) or "{" in columns["task"]:
            return read_returns(path, strict=strict, **columns)
        if columns.get("metric"):
            raise ValueError(
                f"{path}: is a folder of Parquet files, of which requirements are not asked; expected a file"
            )
        if columns["unfinished"] is not None:
            raise ValueError(f"--unfinished is given for {path}; Parquet files mark no rollout as unfinished")
        if given := others_given(columns):
            told = " and ".join(given)
            raise ValueError(f"{told} given for {path}, a folder of Parquet files; expected a file for it")
        options: dict[str, Any] = {"task": columns["task"], "value": columns["value"], "across": self.across or ()}
        support = complete(np.empty(0, type_in_folder(path, **options))).get("support")
        ends = None if support is None else (float(support[0]), float(support[1]))
        options |= {} if self.num_bins is None else {"num_bins": self.num_bins}
        return read_summary(path, support=ends, strict=strict, **options)
