"""The Parquet files of a folder and its partitions, and their rows, a batch at a time, each checked."""

import contextlib
import hashlib
import os
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import in_file, unreadable
from jaxcert.tables._coded import as_objects, coded, plain_type
from jaxcert.tables._columns import Columns
from jaxcert.tables._file_tables import arrow_damage_told
from jaxcert.tables._roles import check_names
from jaxcert.tables._set_aside import set_aside, sets_aside
from jaxcert.tables._told_names import is_curve, is_moment, is_of_training, names_policies, tells_apart, tells_endings

_SUFFIX = ".parquet"
# Where Hive and Spark put rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Rows that are held at once, and bytes of a column that are read ahead: what memory needs besides the summary.
_ROWS, _BYTES = 2**20, 2**20
_TASKS = {"is_integer": "integers", "is_string": "text", "is_large_string": "text"}
_VALUES = {"is_boolean": "booleans", "is_integer": "numbers", "is_floating": "numbers"}


class Part(NamedTuple):
    """A Parquet file: its path in the folder, with slashes; where it is; the partitions around it; its bytes."""

    name: str
    path: Path
    partitions: Mapping[str, str]
    size: int


def holds_parquet(path: Path) -> bool:
    """Whether it is a folder with a Parquet file, at any depth."""
    return path.is_dir() and next(path.rglob(f"*{_SUFFIX}"), None) is not None


def parts_of(folder: Path) -> list[Part]:
    """All Parquet files of a folder and its partitions, in the order of their names; anything else is an error.

    Files that begin with `_` or `.`, such as `_SUCCESS`, are no data by convention. Links to files are followed.
    """
    if not folder.is_dir():
        if folder.exists():
            raise ValueError(f"{folder}: is a file, expected a folder of Parquet files")
        raise FileNotFoundError(f"{folder}: no such folder")
    found = sorted(_walked(folder, folder, {}), key=lambda part: part.name)
    if not found:
        raise ValueError(f"{folder}: holds no Parquet file, expected at least one")
    return found


def _walked(root: Path, folder: Path, partitions: Mapping[str, str]) -> Iterator[Part]:
    try:
        paths = [Path(entry.path) for entry in os.scandir(folder)]
    except OSError as error:
        raise unreadable(folder, error) from error
    for path in paths:
        is_data, is_parquet = not path.name.startswith((".", "_")), path.name.endswith(_SUFFIX)
        if path.is_dir():
            yield from _walked(root, path, {**partitions, **_partition(path, partitions)})
        elif is_data != is_parquet:
            raise ValueError(f"{path}: expected Parquet files alone in this folder, with names such as part-0{_SUFFIX}")
        elif is_data and not path.is_file():
            kind = "a link to nothing" if path.is_symlink() else "not a regular file"
            raise ValueError(f"{path}: is {kind}, expected a Parquet file")
        elif is_data:
            yield Part(path.relative_to(root).as_posix(), path, partitions, path.stat().st_size)


def _partition(path: Path, outer: Mapping[str, str]) -> dict[str, str]:
    """Name and value of a folder `name=value`, in which special characters are percent-encoded."""
    if path.is_symlink():
        raise ValueError(f"{path}: is a link to a folder, expected the folder itself")
    name, equals, value = path.name.partition("=")
    if not (name and equals and value) or value == _NO_VALUE:
        raise ValueError(f"{path}: expected a partition, a folder with a name such as task=push")
    if name in outer:
        raise ValueError(f"{path}: is a partition {name} within another one")
    try:
        return {name: urllib.parse.unquote(value, errors="strict")}
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


class Wanted(NamedTuple):
    """What is read: the column or the partition of tasks, the column of returns, and what does not tell tasks apart."""

    task: str
    value: str
    across: tuple[str, ...]


class Layout(NamedTuple):
    """What has to be the same in all files of a folder."""

    columns: Columns  # of tasks and returns; there is none of episodes
    tasks: str  # "integers" or "text"
    values: str  # "booleans" or "numbers"
    partitions: tuple[str, ...]  # the names of the folders around the file
    usual: Columns  # read if none is named
    policy: tuple[tuple[str, Any], ...]  # columns of policies and moments, each with its one entry or None
    unread: tuple[str, ...]  # other columns

    def __str__(self) -> str:
        """In words."""
        within = f"in partitions {', '.join(self.partitions)}" if self.partitions else "in no partition"
        policy = "".join(f", {name} {entry}" for name, entry in self.policy if entry is not None)
        return f"{self.values} in {self.columns.value}, {self.tasks} in {self.columns.task}, {within}{policy}"

    def is_like(self, other: "Layout") -> bool:
        """Whether the files may be of one policy: in an entry that both have they do not differ."""
        pairs = [(entry, dict(self.policy).get(name)) for name, entry in other.policy]
        one, two = (each._replace(policy=(), unread=()) for each in (self, other))
        return one == two and all(None in (a, b) or a == b for a, b in pairs)


def layout_of(part: Part, wanted: Wanted) -> Layout:
    """What the columns of a file are; of its rows only columns that may tell policies apart are read."""
    try:
        file = part.path.open("rb")
    except OSError as error:
        raise unreadable(part.path, error) from error
    with file, in_file(part.path):
        return _layout(_parquet(file, part.size), part, wanted)


def rows_of(
    part: Part, wanted: Wanted, expected: Layout, support: tuple[float, float], digests: dict[str, str]
) -> Iterator[tuple[Any, np.ndarray]]:
    """The rows of a file in batches: the label of each task, an array of pyarrow, and its return, float64.

    After the last one ``digests`` has the file's SHA-256. What is wrong is told with file, row group and row.
    """
    pa, (task, _, value) = import_extra("pyarrow", "io"), expected.columns
    with opened(part) as (file, digest), in_file(part.path):
        parquet = _parquet(file, part.size)
        found = _layout(parquet, part, wanted)
        if not found.is_like(expected):
            raise ValueError(f"has {found}; expected, as in the first file, {expected}")
        label = part.partitions.get(task)
        for group in range(parquet.num_row_groups):
            start = 0
            for batch in _batches(parquet, group, [value] if label is not None else [task, value]):
                values = _values(batch.column(value), value, support, f"row group {group}", start)
                given = batch.column(task) if label is None else pa.repeat(label, len(values))
                yield _tasks(given, task, expected.tasks, f"row group {group}", start), values
                start += len(values)
    digests[part.name] = digest


def _parquet(file: Any, size: int) -> Any:
    if not size:
        raise ValueError("is empty (0 bytes), expected a Parquet file")
    parquet = import_extra("pyarrow.parquet", "io")
    with arrow_damage_told("Parquet"):
        return parquet.ParquetFile(file, page_checksum_verification=True, buffer_size=_BYTES, pre_buffer=False)


def _batches(parquet: Any, group: int, columns: list[str]) -> Iterator[Any]:
    batches = parquet.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False)
    while True:
        with arrow_damage_told("Parquet", f"row group {group}: "):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _layout(parquet: Any, part: Part, wanted: Wanted) -> Layout:
    schema, outer, across = parquet.schema_arrow, part.partitions, wanted.across
    names = [*schema.names, *(name for name in outer if name not in across)]
    columns = check_names(names, Columns(wanted.task, None, wanted.value))
    if columns.value not in names:
        raise ValueError(f"counts trials in {columns.value}; expected one row per trial in a folder of Parquet files")
    if columns.value in outer:
        raise ValueError(f"{columns.value} is a partition, expected a column of returns")
    told = [name for name in (*schema.names, *outer) if name not in columns and (tells_apart(name) or is_moment(name))]
    entries = ((name, outer.get(name) or _entry_in(parquet, columns.task, name)) for name in told)
    is_nested = import_extra("pyarrow", "io").types.is_nested
    for name in (field.name for field in schema if sets_aside(field.name) and not is_nested(field.type)):
        _check_none_set_aside(parquet, name)
    policy = tuple((name, entry) for name, entry in entries if names_policies(name) or is_curve(name))
    if pooled := sorted({name for name in across if tells_apart(name) or tells_endings(name) or is_moment(name)}):
        raise ValueError(
            f"lies in partitions {', '.join(pooled)}, which across may not name: the trials of several policies, "
            "conditions or moments of training are none of one policy; expected the folder of one of them"
        )
    if unnamed := sorted(outer.keys() - {columns.task, *across}):
        raise ValueError(
            f"lies in partitions {', '.join(unnamed)}, which may tell tasks apart; expected the partition of tasks "
            "as task, and those that do not tell tasks apart in across"
        )
    if unknown := sorted(set(across) - outer.keys()):
        raise ValueError(f"lies in no partition {', '.join(unknown)}, which across names")
    tasks = "text" if columns.task in outer else _kind(schema.field(columns.task), _TASKS, "integers or text")
    values = _kind(schema.field(columns.value), _VALUES, "booleans or numbers, integers or floats")
    unread = tuple(name for name in names if name not in columns)
    return Layout(columns, tasks, values, tuple(outer), Columns.unnamed_in(names), policy, unread)


def _entry_in(parquet: Any, task: str, name: str) -> Any:
    """The one entry of a column in a file; None if it has several, each for tasks of its own, or lists or objects."""
    pa, schema, found = import_extra("pyarrow", "io"), parquet.schema_arrow, set()
    if schema.names.count(name) > 1 or pa.types.is_nested(schema.field(name).type):
        return None
    by = [task] if task in schema.names else []
    for group in range(parquet.num_row_groups):
        with arrow_damage_told("Parquet", f"row group {group}: "):
            rows = parquet.read_row_group(group, columns=[*by, name], use_threads=False)
        counts = rows.group_by(by).aggregate([(name, "count_distinct")]).column(f"{name}_count_distinct").to_pylist()
        found |= set(rows.column(name).unique().to_pylist()[:2])
        # The length of an episode differs from one to the next.
        differs = max(counts, default=0) > 1 and (tells_apart(name) or is_curve(name))
        if differs or (len(found) > 1 and is_of_training(name)):
            raise ValueError(
                f"rows{' of the same task' if differs else ''} differ in column {name!r:.42}: if it tells policies, "
                "conditions or moments of training apart, they are no trials of one policy; expected files of one of "
                "them, or without it"
            )
    return next(iter(found)) if len(found) == 1 else None


def _check_none_set_aside(parquet: Any, name: str) -> None:
    """Raise ValueError for trials in which a human helped, or that are not to count."""
    for group in range(parquet.num_row_groups):
        with arrow_damage_told("Parquet", f"row group {group}: "):
            column = parquet.read_row_group(group, columns=[name], use_threads=False).column(0)
        if set_aside(name, coded(as_objects(column.unique().to_pylist()))).any():
            raise ValueError(
                f"column {name!r:.42} sets trials aside, as those in which a human helped or that are not to count; "
                "expected files without this column, in which each of them is a failure"
            )


def _kind(field: Any, kinds: dict[str, str], expected: str) -> str:
    types = import_extra("pyarrow.types", "io")
    for name, words in kinds.items():
        if getattr(types, name)(plain_type(field.type)):
            return words
    raise ValueError(f"column {field.name} holds {field.type}, expected {expected}")


def _tasks(column: Any, name: str, kind: str, place: str, start: int) -> Any:
    """The labels in one type, so that those of several files compare; none of them is empty."""
    pa, compute = import_extra("pyarrow", "io"), import_extra("pyarrow.compute", "io")
    try:
        column = column.cast(plain_type(column.type)).cast(pa.int64() if kind == "integers" else pa.large_string())
    except pa.ArrowInvalid as error:
        raise ValueError(f"{place}: column {name} holds integers beyond 64 bits ({error})") from error
    empty = column.is_null() if kind == "integers" else compute.equal(column.fill_null(""), "")
    _check(empty.to_numpy(zero_copy_only=False), None, name, "an entry", place, start)
    return column


def _values(column: Any, name: str, support: tuple[float, float], place: str, start: int) -> np.ndarray:
    """The returns as float64, successes as 1; each of them possible."""
    pa = import_extra("pyarrow", "io")
    column = column.cast(plain_type(column.type))
    _check(column.is_null().to_numpy(zero_copy_only=False), None, name, "an entry", place, start)
    try:
        column = column.cast(pa.float64()) if pa.types.is_integer(column.type) else column
    except pa.ArrowInvalid as error:
        raise ValueError(f"{place}: column {name} holds integers that float64 cannot hold ({error})") from error
    values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    wrong = ~((values >= support[0]) & (values <= support[1]))
    _check(wrong, values, name, "a number in the support ({:g}, {:g})".format(*support), place, start)
    return values


def _check(wrong: np.ndarray, values: Any, name: str, expected: str, place: str, start: int) -> None:
    """Name the first row that is wrong; without ``values`` it is empty."""
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = "empty" if values is None else f"{values[row]:g}"
        raise ValueError(
            f"{place}, row {start + row}: {name} is {shown}, expected {expected}; {wrong.sum()} of the {len(wrong)} "
            f"rows from {start} on are none"
        )
