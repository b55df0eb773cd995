"""The door for a path: the reader for a file or a folder, by content and suffix, and the digest of what was read."""

import hashlib
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from jaxcert.tables._arranged import arrange_table
from jaxcert.tables._doubts import WAYS, told_of
from jaxcert.tables._file_tables import arrow_table, csv_table, json_lines_table, json_table, parquet_table, unpacked
from jaxcert.tables._files import content_of, in_file, suffix_of
from jaxcert.tables._label_doubts import check_tasks
from jaxcert.tables._picked_rows import policies_in
from jaxcert.tables._returns import Returns, ReturnsFile, check_missing
from jaxcert.tables._roles import Columns, Roles, conditions
from jaxcert.tables._written import read_npy, read_npz
from jaxcert.tables.formats import formats, read_content, read_folder
from jaxcert.tables.formats._registry import recipe_in

_ARRAYS = {".npz": read_npz, ".npy": read_npy}
_TEXTS = {
    ".csv": csv_table,
    ".tsv": csv_table,
    ".jsonl": json_lines_table,
    ".ndjson": json_lines_table,
    ".json": json_table,
}
_PACKED = ".gz"
_TABLES = {".parquet": parquet_table, ".arrow": arrow_table, ".feather": arrow_table} | _TEXTS
_SUFFIXES = [*_ARRAYS, *_TABLES, *(f"{name}{_PACKED}" for name in _TEXTS)]


def read_returns(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    task: str = "task_id",
    trial: str | None = "episode_id",
    value: str = "total_return",
    successes: str | None = None,
    trials: str | None = None,
    where: str | Sequence[str] = (),
    policy: str | None = None,
    only: str | None = None,
    strata: str | None = None,
    unfinished: float | None = None,
    tasks: int | str | Sequence[Any] | None = None,
    records: str | None = None,
    recipe: str | PathLike[str] | None = None,
    metric: bool = False,
) -> ReturnsFile:
    """Read the returns of a set of tasks from arrays, a table, results of another tool, or a folder of such files.

    Arrays (`.npz`, `.npy`): `returns` [n, m], or the one that `value` names, and, optionally, a boolean array `where`
    [n, m] that is False where a rollout is missing. Nothing is ever unpickled.

    Tables (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json`, each also as `.gz`, `.parquet`, `.arrow`, `.feather`): one row
    per rollout, with a column of tasks, one of trials and one of outcomes; the page on formats lists the names that are
    found unnamed, and the words for success and failure, which are read as bool. Tasks are numbered in the order in
    which they first appear, and a task's rollouts in the order of their rows. A row may count trials, as 31/50 in one
    column, or in `successes` and `trials`: their order is not known, and is drawn at random.

    Results of other tools are recognised by their content; `data.told` says what was read. Of a folder, `task` is the
    pattern of the paths in it, with `{task}` where the task's label stands, as in `"{task}/seed_*/monitor.csv"`.

    Missing rollouts are harmless only if whether a rollout is missing does not depend on its outcome. A policy whose
    worst episodes crash or are not recorded looks better than it is: count such an episode as the worst return. For
    this reason missing rollouts are reported; a task without any row cannot be detected. Whether the values lie in the
    declared support is checked by `jaxcert.certify`, which knows it.

    Args:
        path: the file, or the folder.
        strict: refuse what is warned of.
        task: the column of tasks, or several with commas; of a folder, the pattern of its files' paths.
        trial: the column of episodes, each once per task; None if there is none.
        value: the column of outcomes, several with commas (a trial in each), an array, or another tool's score.
        successes: the column that counts successes, with `trials`, in place of `value`.
        trials: the column that counts trials, of `successes` or of the rate of success in `value`.
        where: conditions on the rows of a table, each a text such as "arm = clean", "arm != clean" or "seed in 1, 2".
        policy: the column of policies in a table, of which `only` names one.
        only: the policy whose rows are read.
        strata: the column of the strata within which tasks were drawn, one for each task, for `certify_stratified`.
        unfinished: the return to count for each rollout without an outcome: the worst one possible, and 0 among
            successes. Certificates are then about returns that count them so. By default such a file is refused.
        tasks: how many tasks there have to be, or their labels, or a file with one in each line.
        records: the names on the way to the records in a JSON file, with dots; ``*`` is each entry of a list or an
            object, and what the first one stands for is the column ``$1``.
        recipe: a TOML file that says how JSON of another tool is read; a certificate holds all of it.
        metric: whether the value is a metric of which more need not be better, for `certify_requirements`; else names
            of such columns are asked about, or refused.

    Returns:
        The returns, the mask of missing rollouts, the labels of the tasks, and the file's digest.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, cut short, or of another type; columns are missing, or several could be meant;
            an entry is no outcome or no label; a pair of task and trial occurs twice; the rows are no trials of one
            fixed policy; rollouts are unfinished. Each message names the file, the place and what was expected.
        ImportError: a table or an `.eval` file without pyarrow (extra `io`).

    Warns:
        UserWarning: some tasks have fewer rollouts than others, a CSV file may be cut short, or what names and entries
            tell lets one doubt that the rows are single trials of one policy.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "returns.npz"
        ...     np.savez(path, returns=np.ones((3, 2)))
        ...     read_returns(path).returns.shape
        (3, 2)
    """
    how = None if recipe is None else recipe_in(Path(recipe))
    picked = (successes, trials, conditions(where), policy, only, strata, unfinished, tasks, records, how)
    return read_by(path, Roles(task, trial, value, *picked, metric=metric), strict=strict)


def read_by(path: str | PathLike[str], roles: Roles, *, strict: bool = False) -> ReturnsFile:
    """The returns of a file or a folder, by the roles of its columns; see ``read_returns``."""
    path = Path(path)
    with told_of(f"{path}: ", strict, 5):
        found, said = read_folder(path, roles, table_in) if path.is_dir() else _of_file(path, roles)
        with in_file(path):
            check_tasks(found.tasks, roles.tasks)
    unfinished = roles.unfinished if found.num_unfinished else None
    data = ReturnsFile(**vars(found), path=path, unfinished=unfinished, roles=roles, **said)
    check_missing(data, strict=strict, place=f"{path}: ")
    return data


def _of_file(path: Path, roles: Roles) -> tuple[Returns, dict[str, Any]]:
    content, kind = content_of(path, "returns"), suffix_of(path, _SUFFIXES)  # once: the digest is of the parsed content
    with in_file(path):
        found = read_content(path, content, roles, own=kind is not None)
        if found is None and kind in _ARRAYS:
            found = _of_arrays(kind, content, roles)
        if found is None:
            table = table_in(path, content, roles)
            returns, columns = arrange_table(table, roles)
            found = returns, {"columns": columns, "usual_columns": Columns.unnamed_in(table.column_names)}
    return found[0], {**found[1], "sha256": hashlib.sha256(content).hexdigest()}


def _of_arrays(kind: str, content: bytes, roles: Roles) -> tuple[Returns, dict[str, Any]]:
    if roles.unfinished is not None:
        raise ValueError(f"unfinished is {roles.unfinished}; expected None: arrays mark no rollout as unfinished")
    same = {name: getattr(roles, name) for name in ("value", "tasks", "strata", "metric", "recorded")}
    if roles != Roles(**same):
        named = ", ".join(map(str, [*roles.columns(()), *roles.where, *filter(None, [roles.policy])]))
        raise ValueError(f"has arrays and no columns {named}; expected a table for these")
    return _ARRAYS[kind](content, roles)


def table_in(path: Path, content: bytes, roles: Roles) -> Any:
    """The rows as a table of pyarrow."""
    kind = suffix_of(path, _SUFFIXES)
    if kind is None or kind in _ARRAYS:
        raise ValueError("holds arrays; expected a table" if kind else _no_kind(path))
    text = unpacked(content) if kind.endswith(_PACKED) else content
    return _TABLES[kind.removesuffix(_PACKED)](text, roles)


def policies_of(path: Path, policy: str, where: str | Sequence[str] = (), records: str | None = None) -> list[str]:
    """The policies that a column of a table names, among the rows that are wanted; what is doubted is told later."""
    usual = ("task_id", "episode_id", "total_return")
    roles = Roles(policy=policy, where=conditions(where), records=records, given=usual)
    content = content_of(path, "returns")
    with in_file(path), warnings.catch_warnings(action="ignore", category=UserWarning):
        return policies_in(table_in(path, content, roles), roles)


def holds_parquet(path: Path) -> bool:
    """Whether it is a folder with a Parquet file, at any depth, which is read as a summary."""
    return path.is_dir() and next(path.rglob("*.parquet"), None) is not None


def _no_kind(path: Path) -> str:
    if way := next((way for ends, way in WAYS.items() if path.name.lower().endswith((*ends.split(),))), None):
        return way
    of_tools = ", ".join(each.name for each in formats())
    return f"suffix {path.suffix!r}, expected one of {', '.join(_SUFFIXES)}; nor is it {of_tools}"
