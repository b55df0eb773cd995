"""A folder of Parquet files as a summary, in memory that does not grow with the number of rollouts."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxcert._extras import import_extra
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import MOST, Histogram
from jaxcert.tables._doubts import judge, told_of
from jaxcert.tables._entries import check_spelling
from jaxcert.tables._files import in_file
from jaxcert.tables._label_doubts import ask_about_files, ask_about_labels, check_tasks
from jaxcert.tables._outcome_doubts import BY_NAME, Outcomes
from jaxcert.tables._parts import Files
from jaxcert.tables._returns import ReturnsFile, check_missing
from jaxcert.tables._roles import Columns
from jaxcert.tables._sum_doubts import check_labels
from jaxcert.tables.formats import folder_digest


def read_summary(
    folder: str | PathLike[str],
    *,
    support: Support | None = None,
    num_bins: int = 100,
    task: str = "task_id",
    value: str = "total_return",
    across: Sequence[str] = (),
    dtype: DTypeLike | None = None,
    strict: bool = False,
) -> ReturnsFile:
    r"""Read a folder of Parquet files, one row per rollout, as a summary of each task.

    The rows are read a million at a time, so that memory holds only the counts, 4 (num_bins + 1) bytes per task. Each
    return is rounded down to one of num_bins + 1 values, which leaves every bound valid; booleans are successes, and
    are counted exactly. The counts equal those of ``Histogram.update`` with all returns at once.

    Files may lie in partitions, folders with names such as ``task=push``, whose name is then a column of text. All
    other partitions have to be named in ``across``, which says that a task of the same label in two of them is the
    same task. A task may have rows in several files.

    Episodes are not read: that no rollout occurs twice is not checked, except that two files of the same task or tasks
    with the same content are refused. Missing rollouts are dangerous, as in `read_returns`.

    Args:
        folder: the folder, with files `.parquet` and nothing else, but for names that begin with `_` or `.`.
        support: (a, b), declared before the data are seen, both ends finite; for booleans it may be left out.
        num_bins: bins of the histogram of each task, 1 for returns of 0 and 1.
        task: the column or partition of tasks, of integers or text; usual names are found as in `read_returns`.
        value: the column of returns, of numbers or booleans.
        across: partitions that do not tell tasks apart, such as a date.
        dtype: type of the summary, float32 or float64; by default JAX's default float.
        strict: refuse what is warned of, as a folder in which some tasks have fewer rollouts than others.

    Raises:
        FileNotFoundError: there is no such folder.
        ValueError: it holds something else than Parquet files and partitions of the same columns, or no rows; a file is
            damaged; an entry is missing, or outside the support; a partition is not named. The message names file and
            row.

    Example:
        >>> import pathlib, tempfile
        >>> import jaxcert, numpy, pandas
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for part in range(3):
        ...         rows = {"task": numpy.arange(5000) % 50, "score": numpy.linspace(0.7, 0.9, 5000), "part": part}
        ...         pandas.DataFrame(rows).to_parquet(pathlib.Path(folder) / f"{part}.parquet")
        ...     data = read_summary(folder, support=(0, 1))
        >>> data
        ReturnsFile(50 tasks, 300 rollouts each)
        >>> print(f"{jaxcert.certify(data.returns, 0.7, delta=0.01).safety[0]:.4f}")
        0.9074

    Reference: the theory page, section 5, on histograms.
    """
    folder, across = Path(folder), (across,) if isinstance(across, str) else tuple(across)
    import_extra("pyarrow.parquet", "io")
    files = Files(folder, task, value, across)
    layout, successes = files.layout, files.layout.values == "booleans"
    empty = _empty(folder, support, num_bins, dtype, successes)
    tally = Tally(empty)
    with told_of(f"{folder}: ", strict, stacklevel=4):
        for tasks, values in files.batches((float(empty.low), float(empty.high))):
            tally.add(tasks, values)
        with in_file(folder):
            if not files.places:
                raise ValueError("has no rows, expected one per rollout")
            found = np.asarray([*files.places], np.int64 if layout.tasks == "integers" else object)
            check_labels(found.tolist(), layout.columns.task)
            check_spelling(found, f"column {layout.columns.task} holds")
            values = np.ones(1, bool) if successes else np.full(1, np.nan)
            judge(BY_NAME, Outcomes(layout.columns.value, values))
            ask_about_labels(found.tolist())
            check_tasks(found, None)
        for names in (
            files.digests,
            *({f"{name} {outer[name]}": None for outer in files.parts.values()} for name in across),
        ):
            ask_about_files(names, of_same_tasks=files.share_tasks)
    data = ReturnsFile(
        returns=tally.histogram(),
        where=None,
        tasks=found,
        path=folder,
        sha256=folder_digest(files.digests),
        columns=layout.columns,
        usual_columns=Columns.unnamed_in(files.names),
        successes=successes,
        folder={"num_files": len(files.parts), "num_bins": 1 if successes else num_bins, "across": list(across)},
        unread=tuple(name for name in files.names if name not in layout.columns),
    )
    check_missing(data, strict=strict, place=f"{folder}: ")
    return data


def type_in_folder(folder: Path, *, task: str, value: str, across: Sequence[str]) -> type:
    """The type of the returns, bool or float, from the first file, before all files are read."""
    import_extra("pyarrow.parquet", "io")
    return bool if Files(folder, task, value, across).layout.values == "booleans" else float


def _empty(folder: Path, support: Any, num_bins: int, dtype: Any, successes: bool) -> Histogram:
    """A summary of one task, which says what support and values are."""
    if successes:
        if support is not None and tuple(map(float, support)) != (0.0, 1.0):
            raise ValueError(f"{folder}: holds booleans; support is {support}, expected (0, 1) or none")
        return Histogram.empty(1, support=(0, 1), num_bins=1, dtype=dtype)
    if support is None:
        raise ValueError(f"{folder}: holds numbers; support is not given, expected (a, b)")
    return Histogram.empty(1, support=support, num_bins=num_bins, dtype=dtype)


class Tally:
    """The counts of a histogram: for the same rows those of ``Histogram.update``, in any order."""

    def __init__(self, empty: Histogram) -> None:
        """Without tasks, for the values of a histogram."""
        self.values, self.dtype = np.asarray(empty.values, np.float64), empty.dtype
        self.num_rollouts = np.zeros(0, np.int64)
        self.counts = np.zeros((0, len(self.values)), np.int32)

    def add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        """Add rows: the index of the task of each, int64 [rows], and returns in the support, float64 [rows]."""
        new = np.bincount(tasks, minlength=len(self.num_rollouts))
        for array in (self.num_rollouts, self.counts):  # in place, without a second copy of what there is
            array.resize((len(new), *array.shape[1:]), refcheck=False)
        self.num_rollouts += new
        if (most := self.num_rollouts.max(initial=0)) > MOST:
            raise ValueError(f"a task has {most} rollouts; expected at most 2**31 - 1, which a histogram counts")
        place = tasks * len(self.values) + np.searchsorted(self.values, x, side="right") - 1
        np.add.at(self.counts.reshape(-1), place, np.int32(1))

    def histogram(self) -> Histogram:
        """The histogram of all rows; it needs at least one task, and one row of each."""
        values = jnp.asarray(self.values.astype(self.dtype))
        return Histogram(values, values[-1], jnp.asarray(self.counts), jnp.ones(len(self.counts), bool))
