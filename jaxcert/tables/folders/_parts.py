"""The Parquet files of a folder and its partitions, each with its digest; whatever else is there is refused."""

import contextlib
import hashlib
import os
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from jaxcert._files import unreadable

_SUFFIX = ".parquet"
# Where Hive and Spark put rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class Part(NamedTuple):
    """A Parquet file of a folder.

    Attributes:
        name: its path in the folder, with slashes.
        path: where it is.
        partitions: (name, value) of each folder around it, in their order.
        size: in bytes.
    """

    name: str
    path: Path
    partitions: tuple[tuple[str, str], ...]
    size: int


def holds_parquet(path: Path) -> bool:
    """Whether it is a folder with a Parquet file, at any depth."""
    return path.is_dir() and next(path.rglob(f"*{_SUFFIX}"), None) is not None


def parts_of(folder: Path) -> list[Part]:
    """All Parquet files of a folder and its partitions, in the order of their names.

    Files that begin with `_` or `.`, such as `_SUCCESS`, are no data by convention. Links to files are followed.

    Raises:
        FileNotFoundError: there is no such folder.
        OSError: it cannot be read.
        ValueError: it is no folder, holds no Parquet file, or something else: another file, a folder that is no
            partition `name=value`, a link to a folder. The message names it.
    """
    if not folder.is_dir():
        if folder.exists():
            raise ValueError(f"{folder}: is a file, expected a folder of Parquet files")
        raise FileNotFoundError(f"{folder}: no such folder")
    found = sorted(_walked(folder, folder, ()), key=lambda part: part.name)
    if not found:
        raise ValueError(f"{folder}: holds no Parquet file, expected at least one")
    return found


def _walked(root: Path, folder: Path, partitions: tuple[tuple[str, str], ...]) -> Iterator[Part]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise unreadable(folder, error) from error
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir():
            yield from _walked(root, path, (*partitions, _partition(path, partitions)))
        elif entry.name.endswith(_SUFFIX) and not entry.name.startswith((".", "_")):
            yield _part(root, path, partitions)
        elif entry.name.endswith(_SUFFIX) or not entry.name.startswith((".", "_")):
            raise ValueError(f"{path}: expected Parquet files alone in this folder, with names such as part-0{_SUFFIX}")


def _part(root: Path, path: Path, partitions: tuple[tuple[str, str], ...]) -> Part:
    if not path.is_file():
        kind = "a link to nothing" if path.is_symlink() else "not a regular file"
        raise ValueError(f"{path}: is {kind}, expected a Parquet file")
    return Part(path.relative_to(root).as_posix(), path, partitions, path.stat().st_size)


def _partition(path: Path, outer: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Name and value of a folder `name=value`, in which special characters are percent-encoded."""
    if path.is_symlink():
        raise ValueError(f"{path}: is a link to a folder, expected the folder itself")
    name, equals, value = path.name.partition("=")
    if not (name and equals and value) or value == _NO_VALUE:
        raise ValueError(f"{path}: expected a partition, a folder with a name such as task=push")
    if name in dict(outer):
        raise ValueError(f"{path}: is a partition {name} within another one")
    try:
        return name, urllib.parse.unquote(value, errors="strict")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: its percent-encoding is not UTF-8") from error


@contextlib.contextmanager
def opened(part: Part) -> Iterator[tuple[IO[bytes], str]]:
    """The file and its SHA-256; both are of the same content, since a file that changes meanwhile is refused."""
    try:
        with part.path.open("rb") as file:
            before = _identity(os.fstat(file.fileno()))
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            yield file, digest
            now = {_identity(os.fstat(file.fileno())), _identity(part.path.stat())}
    except OSError as error:
        raise unreadable(part.path, error) from error
    if now != {before}:
        raise ValueError(f"{part.path}: changed while it was read")


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def folder_digest(digests: Sequence[tuple[str, str]]) -> str:
    """SHA-256 of one line for each file in the order of the names: its digest, two spaces, its name.

    In the folder, `find * -name '*.parquet' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum` prints it.
    """
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
