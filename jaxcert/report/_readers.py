"""Returns from a file, whose content is checked here, once, with plain error messages."""

import dataclasses
import hashlib
import warnings
from os import PathLike
from pathlib import Path

from jaxcert._contents import content_of, in_file
from jaxcert._files import check_suffix
from jaxcert.report._episodes import read_csv, read_npy, read_npz, read_parquet, unpacked
from jaxcert.returns import Returns
from jaxcert.returns._rows import Columns, check_missing

_ARRAYS = {".npz": read_npz, ".npy": read_npy}
_TABLES = {".parquet": read_parquet, ".csv": read_csv, ".csv.gz": read_csv}
_MAYBE_CUT = "its last line has no line ending: if the file was cut short, its last number may be, too"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReturnsFile(Returns):
    """The returns that a file holds, and which file it was.

    Attributes:
        path: the file.
        sha256: the SHA-256 of its content, in hexadecimal digits.
        columns: which columns of a table were read; None for a file of arrays.
        usual_columns: which columns of a table are read if none is named; "" in place of one where several could be
            meant.
    """

    path: Path
    sha256: str
    columns: Columns | None
    usual_columns: Columns | None


def read_returns(
    path: str | PathLike[str],
    *,
    strict: bool = False,
    task: str = "task_id",
    episode: str | None = "episode_id",
    value: str = "total_return",
) -> ReturnsFile:
    """Read the returns of a set of tasks; the file's suffix gives its type.

    `.npz`: an array `returns` [n, m] and, optionally, a boolean array `where` [n, m] that is False where a
    rollout is missing; other arrays are ignored. `.npy`: the array of returns. Nothing is ever unpickled.

    `.parquet`, `.csv`, `.csv.gz`: one row per rollout, with a column of tasks, one of episodes, and one of returns;
    other columns are ignored. In a table that lacks a column of the usual name, another one is read, if there is one
    only, in upper or lower case: `task`; `episode`, `trial`, `rollout` or `attempt`; `return`, `score`, `success` or
    `passed`. Rows may stand in any order and tasks may have different numbers of rollouts. Tasks are
    numbered in the order in which they first appear, and a task's rollouts in the order of their rows. A CSV file has
    commas, or semicolons or tabs and then decimal points or decimal commas; it may begin with a byte order mark, and
    blanks around an entry do not count. No entry goes over several lines: a lost quote would make rows part of it.
    Without a line ending at its end, a last number that was cut short would go unnoticed: a warning says so.

    Successes and failures are arrays or columns of booleans, or columns of words, in upper or lower case: true and
    false, yes and no, pass and fail, passed and failed, or success and failure, the same two in every row. They are
    read as bool, and need no support. A 0 or 1 is a number, and may be a return like any other: `method="attained"` in
    `jaxcert.certify` takes it as a success, as does `.astype(bool)` where none is missing.

    Missing rollouts are harmless only if whether a rollout is missing does not depend on its outcome. A policy whose
    worst episodes crash, run out of time or are not recorded looks better than it is: count such an episode as the
    worst return, the lower end of the support. For this reason the number of missing rollouts is reported. A task
    without any row cannot be detected.

    Whether the values lie in the declared support is checked by `jaxcert.certify`, which knows it.

    Args:
        path: the file.
        strict: refuse a file in which some tasks have fewer rollouts than others, or that may be cut short.
        task: the column of tasks.
        episode: the column of episodes, each once per task; None if there is none.
        value: the column of returns, or of successes.

    Returns:
        The returns, the mask of missing rollouts, the labels of the tasks, and the file's digest.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, has another suffix, is empty or cut short, or its type does not match its
            suffix; `returns` is missing, not numeric or not [n, m]; columns are missing or occur twice, several could
            be meant, or they are named for a file of arrays; there are no rows; an entry is empty, not a number or not
            finite, or no word like the first one; a pair of task and episode occurs twice; with `strict`, rollouts are
            missing or the file may be cut short. Each message names the file, the place and what was expected.
        ImportError: a `.parquet`, `.csv` or `.csv.gz` file without pyarrow (`pip install 'jaxcert[io]'`).

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
    path = Path(path)
    content = content_of(path, "returns")  # once, so that the digest belongs to what is parsed
    kind = check_suffix(path, [*_ARRAYS, *_TABLES])
    columns = Columns(task, episode, value)
    with in_file(path):
        text = unpacked(content) if kind == ".csv.gz" else content
        found, names = _read(kind, text, columns)
    if kind.startswith(".csv") and not text.endswith((b"\n", b"\r")):
        if strict:
            raise ValueError(f"{path}: {_MAYBE_CUT}; expected a line ending")
        warnings.warn(f"{path}: {_MAYBE_CUT}", UserWarning, stacklevel=2)
    check_missing(found, strict=strict, place=f"{path}: ")
    digest = hashlib.sha256(content).hexdigest()
    read, usual = (None, None) if names is None else (columns.in_table(names), Columns.unnamed_in(names))
    return ReturnsFile(found.returns, found.where, found.tasks, path, digest, read, usual)


def _read(kind: str, content: bytes, columns: Columns) -> tuple[Returns, list[str] | None]:
    """The returns and, of a table, the names of all of its columns."""
    if kind in _TABLES:
        return _TABLES[kind](content, columns)
    if columns != Columns():
        raise ValueError(f"has arrays and no columns {', '.join(map(str, columns))}; expected a table for these")
    return _ARRAYS[kind](content), None
