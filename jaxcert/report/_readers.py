"""Returns from a file, whose content is checked here, once, with plain error messages."""

import dataclasses
import hashlib
import warnings
from os import PathLike
from pathlib import Path

import numpy as np

from jaxcert._files import check_suffix
from jaxcert.report._archive import read_archive
from jaxcert.report._episodes import read_csv, read_parquet

_READERS = {".npz": read_archive, ".parquet": read_parquet, ".csv": read_csv}
_AT_RANDOM = (
    "certificates hold only if whether a rollout is missing does not depend on its outcome; otherwise count it as the "
    "worst return, the lower end of the support"
)


@dataclasses.dataclass(frozen=True, eq=False)
class ReturnsFile:
    """The returns that a file holds, and which file it was.

    Attributes:
        path: the file.
        sha256: the SHA-256 of its content, in hexadecimal digits.
        returns: float32 or float64 [n, m], one row per task. Missing rollouts are NaN.
        where: bool [n, m], False where a rollout is missing; None if none is.
    """

    path: Path
    sha256: str
    returns: np.ndarray
    where: np.ndarray | None

    @property
    def num_rollouts(self) -> np.ndarray:
        """The number of rollouts of each task, int [n]."""
        if self.where is None:
            return np.full(self.returns.shape[0], self.returns.shape[1])
        return self.where.sum(axis=1)

    @property
    def missing(self) -> str:
        """How many tasks lack rollouts that others have, and how many are missing, in words; empty for none."""
        counts, most = self.num_rollouts, self.returns.shape[1]
        short = int((counts < most).sum())
        if not short:
            return ""
        return (
            f"{short} of {len(counts)} tasks have fewer than {most} rollouts, {int((most - counts).sum())} of "
            f"{counts.size * most} are missing"
        )


def read_returns(path: str | PathLike[str], *, strict: bool = False) -> ReturnsFile:
    """Read the returns of a set of tasks; the file's suffix gives its type.

    `.npz`: an array `returns` [n, m] and, optionally, a boolean array `where` [n, m] that is False where a
    rollout is missing; other arrays are ignored. Nothing is ever unpickled.

    `.parquet`, `.csv`: one row per rollout, with the columns `task_id`, `episode_id` and `total_return`; other
    columns are ignored. Rows may stand in any order and tasks may have different numbers of rollouts. Tasks are
    numbered in the order in which they first appear, and a task's rollouts in the order of their rows. A CSV file
    must end with a line ending: without it, a last value that was cut short would go unnoticed.

    Missing rollouts are harmless only if whether a rollout is missing does not depend on its outcome. A policy whose
    worst episodes crash, run out of time or are not recorded looks better than it is: count such an episode as the
    worst return, the lower end of the support. For this reason the number of missing rollouts is reported. A task
    without any row cannot be detected.

    Whether the values lie in the declared support is checked by `jaxcert.certify`, which knows it.

    Args:
        path: the file.
        strict: refuse a file in which some tasks have fewer rollouts than others.

    Returns:
        The returns, the mask of missing rollouts, and the file's digest.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, has another suffix, is empty or cut short, or its type does not match its
            suffix; `returns` is missing, not numeric or not [n, m]; columns are missing or occur twice; there are no
            rows; an entry is empty, not a number or not finite; a pair of task and episode occurs twice; with `strict`,
            rollouts are missing. Each message names the file, the place and what was expected.
        ImportError: a `.parquet` or `.csv` file without pyarrow (`pip install 'jaxcert[io]'`).

    Warns:
        UserWarning: without `strict`, some tasks have fewer rollouts than others.

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
    content = _content(path)
    reader = _READERS[check_suffix(path, _READERS)]
    try:
        returns, where = reader(content)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error
    file = ReturnsFile(path, hashlib.sha256(content).hexdigest(), returns, where)
    if file.missing and strict:
        raise ValueError(f"{path}: {file.missing}; expected as many of every task")
    if file.missing:
        warnings.warn(f"{path}: {file.missing}: {_AT_RANDOM}", UserWarning, stacklevel=2)
    return file


def _content(path: Path) -> bytes:
    """The file's bytes, read once, so that the digest belongs to what was parsed."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.is_file():
        raise ValueError(f"{path}: is {'a directory' if path.is_dir() else 'not a regular file'}, expected a file")
    content = path.read_bytes()
    if not content:
        raise ValueError(f"{path}: is empty (0 bytes), expected returns")
    return content
