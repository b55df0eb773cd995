"""The policies that a command compares, each with its returns: from a file of its own, or from rows of a table."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.tables import ReturnsFile, align_tasks, read_returns
from jaxcert.tables._doubts import listed, told_of
from jaxcert.tables._entries import check_told_apart, closely
from jaxcert.tables._readers import policies_of
from jaxcert.tables._returns import names_of


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
