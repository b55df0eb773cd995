"""Returns as files that `read_returns` reads."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import chex
import numpy as np

from jaxcert._archive import read_arrays
from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix, content_of, in_file, parsed, whole_file
from jaxcert.tables._episodes import COLUMNS

_SUFFIXES = (".npz", ".parquet")
# Names with a meaning for readers, in either kind of file.
_TAKEN = {*COLUMNS, "about", "file", "returns", "where"}


def write_returns(
    path: str | PathLike[str],
    returns: chex.Array,
    *,
    tasks: Mapping[str, chex.Array | Sequence[float]] | None = None,
    facts: Mapping[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write returns, completely or not at all; the file's suffix says how.

    `.npz`: arrays `returns` [n, m], one per parameter of the tasks, and `about`, the facts as JSON. `.parquet`: one row
    per rollout, with the columns task_id, episode_id, total_return, one per parameter of the tasks, and the facts as
    JSON under the key `jaxcert` of the schema's metadata.

    Args:
        path: the file.
        returns: float [n, m].
        tasks: parameters of the tasks by name, each [n].
        facts: the origin of the returns, as strings, numbers and lists.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: another suffix, shapes that do not fit, a parameter with a name that means something else in these
            files (such as `returns` or `task_id`), or no file can be written there.
        ImportError: a `.parquet` file without pyarrow (extra `io`).

    Example:
        >>> import pathlib, tempfile
        >>> from jaxcert.tables import read_returns
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "returns.parquet"
        ...     write_returns(path, np.ones((3, 2)), tasks={"mass": np.arange(3.0)}, facts={"policy": "mine"})
        ...     read_returns(path).returns.shape
        (3, 2)
    """
    target = check_returns_path(path)
    values = np.asarray(returns)
    columns = {name: np.asarray(column) for name, column in (tasks or {}).items()}
    if values.ndim != 2 or any(column.shape != values.shape[:1] for column in columns.values()):
        shapes = {name: column.shape for name, column in columns.items()}
        raise ValueError(f"returns have shape {values.shape}, tasks {shapes}; expected [n, m], and [n] each")
    if taken := sorted(_TAKEN & set(columns)):
        raise ValueError(f"tasks have parameters called {', '.join(taken)}, which mean something else in these files")
    if any(column.dtype == object for column in (values, *columns.values())):
        raise ValueError("returns and parameters of tasks must be numbers")
    write = _write_archive if target.suffix.lower() == ".npz" else _write_parquet
    about = json.dumps(dict(facts or {}))
    with whole_file(target, replace=replace) as file:
        write(file, values, columns, about)


def returns_facts(path: str | PathLike[str]) -> dict[str, Any]:
    """The origin of the returns in a file of `write_returns`, such as policy and seed.

    Args:
        path: the file.

    Returns:
        The facts; empty for a file that says nothing of it or one thing twice, or of another kind, and for a folder.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file that is damaged.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "returns.npz"
        ...     write_returns(path, np.ones((3, 2)), facts={"policy": "mine"})
        ...     returns_facts(path)
        {'policy': 'mine'}
    """
    readers = {".npz": _about_archive, ".parquet": _about_parquet}
    reader = None if Path(path).is_dir() else readers.get(Path(path).suffix.lower())
    content = content_of(path, "returns") if reader else b""
    with in_file(path):
        about = reader(content) if reader else "{}"
    try:
        facts = parsed(about)
    except ValueError:  # what others call "about", or one fact twice
        return {}
    return facts if isinstance(facts, dict) else {}


def _about_archive(content: bytes) -> str:
    read_arrays(content, (), ())  # damage is an error, what others keep under this name is none
    try:
        about = read_arrays(content, (), ("about",)).get("about")
    except ValueError:
        return "{}"
    return str(about) if about is not None and about.ndim == 0 else "{}"


def _about_parquet(content: bytes) -> str:
    pa, parquet = import_extra("pyarrow", "io"), import_extra("pyarrow.parquet", "io")
    try:
        metadata = parquet.read_schema(pa.BufferReader(content)).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot be read as Parquet, damaged or cut short ({error})") from error
    return metadata.get(b"jaxcert", b"{}").decode("utf-8", "replace")


def check_returns_path(path: str | PathLike[str]) -> Path:
    """The path, if `write_returns` can write there; checked before a long computation.

    Args:
        path: the file.

    Raises:
        ValueError: another suffix, or no file can be written there.
        ImportError: a `.parquet` file without pyarrow.

    Example:
        >>> check_returns_path("returns.npz").suffix
        '.npz'
    """
    target = check_output(path)
    if check_suffix(target, _SUFFIXES) == ".parquet":
        import_extra("pyarrow.parquet", "io")
    return target


def _write_archive(file: IO[bytes], returns: np.ndarray, columns: dict[str, np.ndarray], about: str) -> None:
    arrays: dict[str, Any] = {"returns": returns, "about": np.array(about), **columns}
    np.savez_compressed(file, **arrays)


def _write_parquet(file: IO[bytes], returns: np.ndarray, columns: dict[str, np.ndarray], about: str) -> None:
    pa, parquet = import_extra("pyarrow", "io"), import_extra("pyarrow.parquet", "io")
    n, m = returns.shape
    table = {
        "task_id": np.repeat(np.arange(n), m),
        "episode_id": np.tile(np.arange(m), n),
        "total_return": returns.ravel(),
    }
    table |= {name: np.repeat(column, m) for name, column in columns.items()}
    parquet.write_table(pa.table(table).replace_schema_metadata({"jaxcert": about}), file)
