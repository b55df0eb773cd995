"""Returns from a file, whose content is checked here, once, with plain error messages."""

import dataclasses
import hashlib
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._files import check_suffix, content_of, in_file
from jaxcert.returns._prepared import as_successes
from jaxcert.tables._columns import Columns
from jaxcert.tables._episodes import arrow_table, csv_table, parquet_table, read_npy, read_npz, unpacked
from jaxcert.tables._expected_tasks import check_tasks
from jaxcert.tables._json_rows import json_lines_table, json_table
from jaxcert.tables._pooled import told_of
from jaxcert.tables._returns import Returns, check_missing, how_many
from jaxcert.tables._roles import Roles, conditions
from jaxcert.tables._table_rows import arrange_table, policies_in
from jaxcert.tables.formats import FORMATS, Read, read_content, read_folder

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
_MAYBE_CUT = "its last line has no line ending: if the file was cut short, its last number may be, too"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReturnsFile(Returns):
    """The returns that a file holds, and which file it was.

    Attributes:
        path: the file.
        sha256: the SHA-256 of its content, in hexadecimal digits; of a folder, of the list of the files read,
            as `sha256sum` writes it in the order of their paths.
        columns: which columns of a table were read; None for a file of arrays.
        usual_columns: which columns of a table are read if none is named; "" in place of one where several could be
            meant.
        told: what to tell the reader of a result about a file that another tool wrote; "" for a file of jaxcert's.
        fixed_list: whether the tasks are known to be a list that somebody made, such as a benchmark, and no random
            sample; False if that is not known.
        known_support: the smallest and the largest return possible, if the tool fixes them.
        unfinished: the return that rollouts without an outcome of their own count as; None if there are none.
        roles: which column has which role, and which rows were read; None for a file of arrays.
    """

    path: Path
    sha256: str
    columns: Columns | None
    usual_columns: Columns | None
    told: str = ""
    fixed_list: bool = False
    known_support: tuple[float, float] | None = None
    unfinished: float | None = None
    roles: Roles | None = None

    def place_of(self, index: Sequence[int]) -> str:
        """Which return it is, with the file."""
        return f"{self.path}: {super().place_of(index)}"

    def without_support(self, support: Any) -> "ReturnsFile":
        """These returns where such a support is declared: without one, numbers that are all 0 or 1 are successes."""
        found = as_successes(self.returns, support, self.where) if self.has_rollouts else self.returns
        if found is self.returns:
            return self
        told = self.told.replace(", value from ", ", success from ")
        return dataclasses.replace(self, returns=found, known_support=None, told=told)

    @property
    def policy(self) -> str | None:
        """The policy, where the table holds several."""
        return None if self.roles is None else self.roles.only

    @property
    def _name(self) -> str:
        return str(self.path) if self.policy is None else f"{self.path}, {self.policy}"

    @property
    def like(self) -> np.ndarray:
        """Nothing, of the type of the returns: bool for successes."""
        return np.empty(0, self.returns.dtype)

    @property
    def has_rollouts(self) -> bool:
        """Whether single rollouts are known, and not their summary alone."""
        return True

    @property
    def how_read(self) -> dict[str, Any]:
        """What a record says besides, so that the returns can be read again."""
        picked = {} if self.roles is None else self.roles.picked
        return {"roles": {**picked, "where": list(self.roles.where)}} if picked and self.roles else {}


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
    unfinished: float | None = None,
    tasks: int | str | Sequence[Any] | None = None,
    records: str | None = None,
    recipe: str | PathLike[str] | None = None,
) -> ReturnsFile:
    """Read the returns of a set of tasks; by the file's suffix, or by its content if another tool wrote it.

    `.npz`: an array `returns` [n, m] and, optionally, a boolean array `where` [n, m] that is False where a
    rollout is missing; other arrays are ignored. `.npy`: the array of returns. Nothing is ever unpickled.

    `.csv`, `.tsv`, `.jsonl` (or `.ndjson`, an object in each line), `.json` (an array of objects), each of them also
    packed as `.gz`, `.parquet`, `.arrow` and `.feather`: one row per rollout, with a column of tasks, one of trials,
    and one of returns; other columns are ignored. In a table that lacks a column of the usual name, another one is
    read, if there is one only, in upper or lower case: of tasks `task`, `instance_id`, `example_id`, `doc_id`,
    `problem_id`, `problem`, `instance`, `scenario`, `env`, `env_id` or `environment`; of trials `episode`, `trial`,
    `rollout` or `attempt`, else `run`, `rep`, `repeat`, `repetition` or `seed`; of returns `return`, `score`,
    `success`, `passed`, `pass`, `resolved`, `solved`, `correct`, `reward`, `exact_match`, `result` or `outcome`.
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
        value: the column of returns, or of successes; in files of other tools, the name of the score.
        successes: the column that counts successes, with `trials`, in place of `value`.
        trials: the column that counts trials, of `successes` or of the rate of success in `value`.
        where: conditions on the rows of a table, each a text such as "arm = clean", "arm != clean" or "seed in 1, 2".
        policy: the column of policies in a table, of which `only` names one.
        only: the policy whose rows are read.
        tasks: how many tasks there have to be, or their labels, or a file with one in each line.
        recipe: a TOML file that says how JSON of another tool is read. A certificate holds its name, and `verify`
            expects it beside the file.
        records: the names on the way to the list of records in a JSON file, with dots.
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
    how = None if recipe is None else str(recipe)
    roles = Roles(
        task, trial, value, successes, trials, conditions(where), policy, only, unfinished, tasks, records, how
    )
    return read_by(path, roles, strict=strict)


def read_by(path: str | PathLike[str], roles: Roles, *, strict: bool = False) -> ReturnsFile:
    """The returns of a file or a folder, by the roles of its columns; see ``read_returns``."""
    path = Path(path)
    if roles.recorded and roles.recipe:
        roles = roles._replace(recipe=str(path.with_name(Path(roles.recipe).name)))
    found = (_of_folder if path.is_dir() else _of_file)(path, roles, strict)
    check_missing(found, strict=strict, place=f"{path}: ")
    return found


def _of_folder(path: Path, roles: Roles, strict: bool) -> ReturnsFile:
    with told_of(path, strict):
        read, digest = read_folder(path, roles, table_in)
    return _of_other_tool(path, digest, read, roles)


def _of_file(path: Path, roles: Roles, strict: bool) -> ReturnsFile:
    content = content_of(path, "returns")  # once, so that the digest belongs to what is parsed
    digest = hashlib.sha256(content).hexdigest()
    has_own_suffix = path.name.lower().endswith(tuple(_SUFFIXES))
    with in_file(path):
        other = read_content(path, content, roles, own=has_own_suffix)
    if other is not None:
        return _of_other_tool(path, digest, other, roles)
    kind = _own_kind(path)
    with in_file(path):
        text = unpacked(content) if kind.endswith(_PACKED) else content
        with told_of(path, strict):
            found, names = _read(kind.removesuffix(_PACKED), text, roles)
    if kind.startswith((".csv", ".tsv")) and not text.endswith((b"\n", b"\r")):
        if strict:
            raise ValueError(f"{path}: {_MAYBE_CUT}; expected a line ending")
        warnings.warn(f"{path}: {_MAYBE_CUT}", UserWarning, stacklevel=3)
    if names is None:
        return ReturnsFile(found.returns, found.where, found.tasks, path, digest, None, None, rows=found.rows)
    read, usual = roles.columns(names).in_table(names), Columns.unnamed_in(names)
    counted = {"unfinished": roles.unfinished, "num_unfinished": found.num_unfinished} if found.num_unfinished else {}
    told = {"told": _told(found, read, roles), "roles": roles, "rows": found.rows, "counted": found.counted}
    return ReturnsFile(found.returns, found.where, found.tasks, path, digest, read, usual, **told, **counted)


def _told(found: Returns, read: Columns, roles: Roles) -> str:
    """What was read of a table, in one line."""
    counts = found.num_rollouts
    fewest, most = int(counts.min()), int(counts.max())
    trials = how_many(most, "trial") if fewest == most else f"{fewest} to {most} trials"
    of_trial = f" from {read.trial}" if read.trial is not None and not found.counted else ""
    what = "success" if found.returns.dtype == bool else "value"
    picked = roles.rows_picked
    lacking = (
        f"; {found.num_unfinished} without an outcome, counted as {roles.unfinished:g}" if found.num_unfinished else ""
    )
    return (
        f"{how_many(len(counts), 'task')} from {read.task}, {trials}{of_trial}, {what} from {read.value}"
        f"{''.join(f', where {each}' for each in picked)}{lacking}"
    )


def policies_of(path: Path, policy: str, where: str | Sequence[str] = ()) -> list[str]:
    """The policies that a column of a table names, among the rows that are wanted."""
    roles = Roles(policy=policy, where=conditions(where), given=("task_id", "episode_id", "total_return"))
    with in_file(path):
        table = table_in(path, content_of(path, "returns"), roles)
        return policies_in(table, roles)


def table_in(path: Path, content: bytes, roles: Roles) -> Any:
    """The rows of a table, as one of pyarrow."""
    kind = _own_kind(path)
    text = unpacked(content) if kind.endswith(_PACKED) else content
    if kind.removesuffix(_PACKED) not in _TABLES:
        raise ValueError("holds arrays; expected a table")
    return _TABLES[kind.removesuffix(_PACKED)](text, roles)[0]


def _of_other_tool(path: Path, digest: str, read: Read, roles: Roles) -> ReturnsFile:
    if roles.tasks is not None:
        with in_file(path):
            check_tasks(read.returns.tasks, roles.tasks)
    counted = {"unfinished": roles.unfinished, "num_unfinished": read.num_unfinished} if read.num_unfinished else {}
    told = {"told": read.told, "fixed_list": read.fixed_list, "known_support": read.support, "roles": roles}
    found = read.returns
    return ReturnsFile(
        found.returns, found.where, found.tasks, path, digest, read.columns, read.usual_columns, **told, **counted
    )


def _own_kind(path: Path) -> str:
    """The type by the suffix, which another tool's file need not have."""
    try:
        return check_suffix(path, _SUFFIXES)
    except ValueError as error:
        raise ValueError(f"{error}; nor is it {', '.join(each.name for each in FORMATS)}") from None


def _read(kind: str, content: bytes, roles: Roles) -> tuple[Returns, list[str] | None]:
    """The returns and, of a table, the names of all of its columns."""
    if kind in _TABLES:
        table, names = _TABLES[kind](content, roles)
        return arrange_table(table, roles), names
    if roles.unfinished is not None:
        raise ValueError(f"unfinished is {roles.unfinished}; expected None: arrays mark no rollout as unfinished")
    if roles != Roles()._replace(tasks=roles.tasks, recorded=roles.recorded):
        named = ", ".join(map(str, [*roles.columns(()), *roles.where, *filter(None, [roles.policy])]))
        raise ValueError(f"has arrays and no columns {named}; expected a table for these")
    found = _ARRAYS[kind](content)
    if roles.tasks is not None:
        check_tasks(found.tasks, roles.tasks)
    return found, None
