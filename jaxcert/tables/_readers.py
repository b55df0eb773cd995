"""Returns from a file, whose content is checked here, once, with plain error messages."""

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from jaxcert._files import check_suffix, content_of, in_file
from jaxcert.tables._arranged import arrange_table
from jaxcert.tables._columns import Columns
from jaxcert.tables._entries import ask, told_of
from jaxcert.tables._file_tables import arrow_table, csv_table, json_lines_table, json_table, parquet_table, unpacked
from jaxcert.tables._picked_rows import policies_in
from jaxcert.tables._returns import Returns, ReturnsFile, check_missing, how_many
from jaxcert.tables._roles import Roles, conditions
from jaxcert.tables._summary_rows import check_tasks
from jaxcert.tables._written import read_npy, read_npz
from jaxcert.tables.formats import FORMATS, read_content, read_folder
from jaxcert.tables.formats._recipes import recipe_in

_ARRAYS = {".npz": read_npz, ".npy": read_npy}
_TEXTS = {
    ".csv": csv_table,
    ".tsv": csv_table,
    ".jsonl": json_lines_table,
    ".ndjson": json_lines_table,
    ".json": json_table,
}
_PACKED = ".gz"
# What to do with files of other kinds.
_WAYS = {
    ".xlsx .xls .ods .numbers": "is a file of a spreadsheet; expected its table saved as CSV, in UTF-8",
    ".pkl .pickle .joblib .pt .pth": (
        "is a pickle, which may run any code when it is read; expected a table, such as one of frame.to_parquet"
    ),
    ".md .txt .html .tex": "is a text; expected its table as CSV: a line with the names of columns, a row per line",
    ".db .sqlite .sqlite3": "is a database; expected one of its tables as CSV or Parquet",
}
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
    """Read the returns of a set of tasks; by the file's suffix, or by its content if another tool wrote it.

    `.npz`: an array `returns` [n, m], or the one that `value` names, and, optionally, a boolean array `where` [n, m]
    that is False where a rollout is missing; other arrays are ignored. `.npy`: the array of returns. Nothing is ever
    unpickled.

    `.csv`, `.tsv`, `.jsonl` (or `.ndjson`, an object in each line), `.json` (an array of objects, or an object of
    columns), each of them also packed as `.gz`, `.parquet`, `.arrow` and `.feather`: one row per rollout, with a
    column of tasks, one of trials, and one of returns; other columns are ignored. In a table that lacks a column of
    the usual name, another one is read, if there is one only, in upper or lower case: of tasks `task`, `instance_id`,
    `example_id`, `doc_id`, `problem_id`, `problem`, `instance`, `scenario`, `env`, `env_id` or `environment`; of
    trials `episode`, `trial`, `rollout` or `attempt`, else `run`, `rep`, `repeat`, `repetition` or `seed`; of returns
    `return`, `score`, `success`, `passed`, `pass`, `resolved`, `solved`, `correct`, `reward`, `exact_match`, `result`
    or `outcome`.
    Rows may stand in any order and tasks may have different numbers of rollouts. Tasks are
    numbered in the order in which they first appear, and a task's rollouts in the order of their rows. A row may count
    trials, as 31/50 in one column, or in two, `successes` and `trials` (others by their names, `successes="won",
    trials="played"`; or the rate, `value="rate", trials="n"`): so many of them succeeded, in an order that is not known
    and is drawn at random. A CSV file has commas, or semicolons or tabs and then decimal points or decimal commas; it
    may begin with a byte order mark, and blanks around an entry do not count; labels of tasks that differ in blanks
    alone are refused. No entry goes over several lines: a lost quote would make rows part of it. Without a line ending
    at its end, a last number that was cut short would go unnoticed: a warning says so.

    Successes and failures are arrays or columns of booleans, or columns of words, in upper or lower case: true and
    false, yes and no, pass and fail, passed and failed, or success and failure, the same two in every row. They are
    read as bool, and need no support. A 0 or 1 is read as a number; if all are, they are successes, unless they are
    certified with a support.

    Logs of Inspect, evaluations of LeRobot, results of tau-bench, tau2-bench and EvalPlus are recognised by what they
    hold. Their tasks and rollouts have the tool's own names, and `value` names a score if there are several. A rollout
    that ended by an error or at a limit, was never run, or has no score is refused, or counts as `unfinished`.
    `data.told` says what was read. A file that its tool writes otherwise by now is refused, with the field's name.

    A folder of monitors (`monitor.csv`) or of evaluations (`evaluations.npz`) of Stable-Baselines3, one or several for
    each task: `task` is then the pattern of their paths within the folder, with `{task}` once where the task's label
    stands, such as `"{task}/monitor.csv"` or `"{task}/seed_*/monitor.csv"`. Of evaluations, the last one is read.

    Missing rollouts are harmless only if whether a rollout is missing does not depend on its outcome. A policy whose
    worst episodes crash, run out of time or are not recorded looks better than it is: count such an episode as the
    worst return, the lower end of the support. For this reason the number of missing rollouts is reported. A task
    without any row cannot be detected.

    Whether the values lie in the declared support is checked by `jaxcert.certify`, which knows it.

    Args:
        path: the file, or the folder.
        strict: refuse a file in which some tasks have fewer rollouts than others, or that may be cut short.
        task: the column of tasks; of a folder, the pattern of its files' paths.
        trial: the column of episodes, each once per task; None if there is none.
        value: the column of returns, or of successes; of several arrays, the name of one; in files of other tools, of
            the score.
        successes: the column that counts successes, with `trials`, in place of `value`.
        trials: the column that counts trials, of `successes` or of the rate of success in `value`.
        where: conditions on the rows of a table, each a text such as "arm = clean", "arm != clean" or "seed in 1, 2".
        policy: the column of policies in a table, of which `only` names one.
        only: the policy whose rows are read.
        strata: the column of the strata within which tasks were drawn, one for each task, for `certify_stratified`.
        tasks: how many tasks there have to be, or their labels, or a file with one in each line.
        recipe: a TOML file that says how JSON of another tool is read; a certificate holds all of it.
        records: the names on the way to the records in a JSON file, with dots; ``*`` is each entry of a list or an
            object, and what the first one stands for is the column ``$1``.
        metric: whether the value is a metric of which more need not be better, such as a cost or a collision, for
            `certify_requirements`; else names of such columns are asked about, or refused.
        unfinished: the return to count for each rollout that its file marks as unfinished: the worst one possible, and
            0 among successes. Certificates are then about returns that count such rollouts in this way. By default, a
            file with such rollouts is refused.

    Returns:
        The returns, the mask of missing rollouts, the labels of the tasks, and the file's digest.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, has another suffix, is empty or cut short, or its type does not match its
            suffix; `returns` is missing, not numeric or not [n, m]; columns are missing or occur twice, several could
            be meant, or they are named for a file of arrays; there are no rows; an entry is empty, not a number or not
            finite, or no word like the first one; a pair of task and trial occurs twice; two labels differ in blanks
            alone; with `strict`, rollouts are missing or the file may be cut short; rollouts are unfinished, or
            `unfinished` is larger than another return or for a file that marks none; a file holds one task. Each
            message names the file, the place and what was expected.
        ImportError: a table or an `.eval` file without pyarrow (extra `io`).

    Warns:
        UserWarning: without `strict`, some tasks have fewer rollouts than others, or a CSV file may be cut short.

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
    named = Roles(
        task, trial, value, successes, trials, conditions(where), policy, only, strata, unfinished, tasks, records, how
    )
    roles = named._replace(metric=metric)
    return read_by(path, roles, strict=strict)


def read_by(path: str | PathLike[str], roles: Roles, *, strict: bool = False) -> ReturnsFile:
    """The returns of a file or a folder, by the roles of its columns; see ``read_returns``."""
    path = Path(path)
    found, said = (_of_folder if path.is_dir() else _of_file)(path, roles, strict)
    with in_file(path), told_of(f"{path}: ", strict, 5):
        check_tasks(found.tasks, roles.tasks)
    unfinished = roles.unfinished if found.num_unfinished else None
    data = ReturnsFile(**vars(found), path=path, unfinished=unfinished, roles=roles, **said)
    check_missing(data, strict=strict, place=f"{path}: ")
    return data


def _of_folder(path: Path, roles: Roles, strict: bool) -> tuple[Returns, dict[str, Any]]:
    with told_of(f"{path}: ", strict, 6):
        return read_folder(path, roles, table_in)


def _of_file(path: Path, roles: Roles, strict: bool) -> tuple[Returns, dict[str, Any]]:
    content = content_of(path, "returns")  # once, so that the digest belongs to what is parsed
    own = path.name.lower().endswith(tuple(_SUFFIXES))
    with in_file(path), told_of(f"{path}: ", strict, 6):
        other = read_content(path, content, roles, own=own)
    if other is None:
        kind = _own_kind(path)
        with in_file(path), told_of(f"{path}: ", strict, 6):
            other = _own(kind, content, roles)
    return other[0], {**other[1], "sha256": hashlib.sha256(content).hexdigest()}


def _own(kind: str, content: bytes, roles: Roles) -> tuple[Returns, dict[str, Any]]:
    """The returns of a file of arrays or of a table."""
    if kind not in _ARRAYS:
        table, is_whole = _table(kind, content, roles)
        found, columns = arrange_table(table, roles)
        if not is_whole:
            maybe_cut = "its last line has no line ending: if the file was cut short, its last number may be, too"
            ask(f"{maybe_cut}; expected a line ending")
        usual = Columns.unnamed_in(table.column_names)
        return found, {"columns": columns, "usual_columns": usual, "told": _told(found, columns, roles)}
    if roles.unfinished is not None:
        raise ValueError(f"unfinished is {roles.unfinished}; expected None: arrays mark no rollout as unfinished")
    same = {name: getattr(roles, name) for name in ("value", "tasks", "strata", "metric", "recorded")}
    if roles != Roles()._replace(**same):
        named = ", ".join(map(str, [*roles.columns(()), *roles.where, *filter(None, [roles.policy])]))
        raise ValueError(f"has arrays and no columns {named}; expected a table for these")
    return _ARRAYS[kind](content, roles.value, strata=roles.strata, metric=roles.metric)


def _table(kind: str, content: bytes, roles: Roles) -> tuple[Any, bool]:
    """The rows of a table, as one of pyarrow; and whether its last line is surely whole."""
    text, suffix = unpacked(content) if kind.endswith(_PACKED) else content, kind.removesuffix(_PACKED)
    return _TABLES[suffix](text, roles), suffix not in (".csv", ".tsv") or text.endswith((b"\n", b"\r"))


def table_in(path: Path, content: bytes, roles: Roles) -> Any:
    """The rows of a table, as one of pyarrow."""
    kind = _own_kind(path)
    if kind in _ARRAYS:
        raise ValueError("holds arrays; expected a table")
    return _table(kind, content, roles)[0]


def policies_of(path: Path, policy: str, where: str | Sequence[str] = ()) -> list[str]:
    """The policies that a column of a table names, among the rows that are wanted."""
    roles = Roles(policy=policy, where=conditions(where), given=("task_id", "episode_id", "total_return"))
    with in_file(path):
        return policies_in(table_in(path, content_of(path, "returns"), roles), roles)


def _told(found: Returns, read: Columns, roles: Roles) -> str:
    """What was read of a table, in one line."""
    fewest, most = int(found.num_rollouts.min()), int(found.num_rollouts.max())
    trials = how_many(most, "trial") if fewest == most else f"{fewest} to {most} trials"
    of_trial = f" from {read.trial}" if read.trial is not None and not found.counted else ""
    what = "success" if found.returns.dtype == bool and not roles.metric else "value"
    picked = "".join(f", where {each}" for each in roles.rows_picked)
    count = found.num_unfinished
    lacking = f"; {count} without an outcome, counted as {roles.unfinished:g}" if count else ""
    tasks = how_many(len(found.tasks), "task")
    return f"{tasks} from {read.task}, {trials}{of_trial}, {what} from {read.value}{picked}{lacking}"


def _own_kind(path: Path) -> str:
    """The type by the suffix, which another tool's file need not have."""
    try:
        return check_suffix(path, _SUFFIXES)
    except ValueError as error:
        if way := next((way for suffixes, way in _WAYS.items() if path.suffix.lower() in suffixes.split()), None):
            raise ValueError(f"{path}: {way}") from None
        raise ValueError(f"{error}; nor is it {', '.join(each.name for each in FORMATS)}") from None
