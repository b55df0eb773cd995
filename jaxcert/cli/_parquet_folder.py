"""A folder of Parquet files in place of a file of returns: its options, and how it is read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.cli._options import option, options
from jaxcert.cli._reading import read_file
from jaxcert.cli._role_options import others_given, reading_of, words_of
from jaxcert.cli._typed import in_shell
from jaxcert.tables import ReturnsFile, read_summary
from jaxcert.tables.folders._parts import holds_parquet
from jaxcert.tables.folders._read_summary import type_in_folder


@options
class FolderOptions(NamedTuple):
    """The line about a folder; None if there is none."""

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

        ``complete`` says which settings the returns have, by an array of their type, before a folder is read.
        """
        if not holds_parquet(path) or "{" in columns["task"]:
            return read_file(path, strict=strict, **columns)
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


def refuse_parquet_folder(path: Path, columns: Mapping[str, Any]) -> None:
    """Raise ValueError for a folder of Parquet files where single rollouts are looked at, with a command that works."""
    if not holds_parquet(path) or "{" in (columns["task"] or ""):
        return
    read = {name: reading_of(columns)[name] for name in ("task", "value")}
    named = {name: column for name in read if (column := columns[name]) is not None}
    support = [] if type_in_folder(path, **read, across=()) is bool else ["--support", "LOW", "HIGH"]
    options = [*words_of(named), "--threshold", "X", *support, "--delta", "0.05"]
    raise ValueError(
        f"{path}: is a folder of Parquet files, whose single rollouts are not kept; expected a file, or a question at "
        f"once, for example: {in_shell('certify', [path], options)} (--mean or --safety S in place of --threshold X)"
    )
