"""The rows of one Parquet file after another, a batch at a time, each checked."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import in_file, unreadable
from jaxcert.tables._columns import Columns
from jaxcert.tables._pooled import tells_policies
from jaxcert.tables._table_rows import check_names
from jaxcert.tables.folders._parts import Part, opened

# Rows that are held at once, and bytes of a column that are read ahead: what memory needs besides the summary.
_ROWS, _BYTES = 2**20, 2**20


class Layout(NamedTuple):
    """What has to be the same in all files of a folder.

    Attributes:
        columns: of tasks and returns; there is none of episodes.
        tasks: what tells tasks apart, "integers" or "text".
        values: what returns are, "booleans" or "numbers".
        partitions: the names of the folders around the file.
        usual: the columns that are read if none is named, as in `ReturnsFile`.
        policy: columns that may tell policies apart, with the one entry of each.
    """

    columns: Columns
    tasks: str
    values: str
    partitions: tuple[str, ...]
    usual: Columns
    policy: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """In words."""
        within = f"in partitions {', '.join(self.partitions)}" if self.partitions else "in no partition"
        policy = "".join(f", {name} {entry}" for name, entry in self.policy)
        return f"{self.values} in {self.columns.value}, {self.tasks} in {self.columns.task}, {within}{policy}"


class Wanted(NamedTuple):
    """What is read.

    Attributes:
        task: the column or the partition of tasks.
        value: the column of returns.
        across: partitions that do not tell tasks apart.
        support: the smallest and the largest return that is possible.
    """

    task: str
    value: str
    across: tuple[str, ...]
    support: tuple[float, float]


class Rows(NamedTuple):
    """A batch of rows: the label of each task, an array of pyarrow, and its return, float64 [rows]."""

    tasks: Any
    values: np.ndarray


def layout_of(part: Part, task: str, value: str, across: Sequence[str]) -> Layout:
    """What the columns of a file are; only its end is read."""
    try:
        file = part.path.open("rb")
    except OSError as error:
        raise unreadable(part.path, error) from error
    with file, in_file(part.path):
        return _layout(_parquet(file, part.size), part, task, value, across)


def rows_of(part: Part, wanted: Wanted, expected: Layout, digests: dict[str, str]) -> Iterator[Rows]:
    """The rows of a file; after the last one ``digests`` has its SHA-256.

    Raises:
        ValueError: it has another layout than expected, is damaged, cut short or changed while it was read, or an
            entry is missing or outside the support. The message names the file, the row group and a row.
    """
    with opened(part) as (file, digest), in_file(part.path):
        parquet = _parquet(file, part.size)
        found = _layout(parquet, part, wanted.task, wanted.value, wanted.across)
        if found != expected:
            raise ValueError(f"has {found}; expected, as in the first file, {expected}")
        for group in range(parquet.num_row_groups):
            yield from _rows_of_group(parquet, group, part, expected, wanted)
    digests[part.name] = digest


def _parquet(file: Any, size: int) -> Any:
    pa, parquet = import_extra("pyarrow", "io"), import_extra("pyarrow.parquet", "io")
    if not size:
        raise ValueError("is empty (0 bytes), expected a Parquet file")
    try:
        return parquet.ParquetFile(file, page_checksum_verification=True, buffer_size=_BYTES, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot be read as Parquet, damaged or cut short ({error})") from error


def _layout(parquet: Any, part: Part, task: str, value: str, across: Sequence[str]) -> Layout:
    schema, outer = parquet.schema_arrow, dict(part.partitions)
    names = [*schema.names, *(name for name in outer if name not in across)]
    columns = check_names(names, Columns(task, None, value))
    if columns.value not in names:
        raise ValueError(f"counts trials in {columns.value}; expected one row per trial in a folder of Parquet files")
    if columns.value in outer:
        raise ValueError(f"{columns.value} is a partition, expected a column of returns")
    told = [name for name in (*schema.names, *outer) if name not in columns and tells_policies(name)]
    policy = tuple((name, outer.get(name) or _only_entry(parquet.metadata, schema.names, name)) for name in told)
    if unnamed := sorted(outer.keys() - {columns.task, *across}):
        raise ValueError(
            f"lies in partitions {', '.join(unnamed)}, which may tell tasks apart; expected the partition of tasks "
            "as task, and those that do not tell tasks apart in across"
        )
    if unknown := sorted(set(across) - outer.keys()):
        raise ValueError(f"lies in no partition {', '.join(unknown)}, which across names")
    tasks = "text" if columns.task in outer else _kind(schema.field(columns.task), _TASKS, "integers or text")
    values = _kind(schema.field(columns.value), _VALUES, "booleans or numbers, integers or floats")
    return Layout(columns, tasks, values, tuple(outer), Columns.unnamed_in(names), policy)


def _only_entry(metadata: Any, names: Sequence[str], name: str) -> Any:
    """The one entry of a column that may tell policies or moments of training apart, by what the file says of it.

    Raises:
        ValueError: it has several, or the file does not say.
    """
    place = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(name)
    groups = (metadata.row_group(i).column(place).statistics for i in range(metadata.num_row_groups))
    found = {entry for statistics in groups for entry in _ends_of(statistics, name)}
    if len(found) > 1:
        raise ValueError(
            f"column {name!r:.42} may tell policies or moments of training apart, whose trials are none of one policy; "
            "expected files of one of them, or without this column"
        )
    return next(iter(found), None)


def _ends_of(statistics: Any, name: str) -> tuple[Any, Any]:
    """The least and the largest entry of a group of rows; two that differ where they are not known."""
    if statistics is None or statistics.null_count or not statistics.has_min_max:
        return None, name
    return statistics.min, statistics.max


_TASKS = {"is_integer": "integers", "is_string": "text", "is_large_string": "text"}
_VALUES = {"is_boolean": "booleans", "is_integer": "numbers", "is_floating": "numbers"}


def _kind(field: Any, kinds: dict[str, str], expected: str) -> str:
    types = import_extra("pyarrow.types", "io")
    kind = _plain_type(field.type)
    for name, words in kinds.items():
        if getattr(types, name)(kind):
            return words
    raise ValueError(f"column {field.name} holds {field.type}, expected {expected}")


def _plain_type(kind: Any) -> Any:
    """The type of the entries of a column, which may be held as a dictionary, as categories are."""
    return kind.value_type if import_extra("pyarrow.types", "io").is_dictionary(kind) else kind


def _rows_of_group(parquet: Any, group: int, part: Part, layout: Layout, wanted: Wanted) -> Iterator[Rows]:
    pa, start, labels = import_extra("pyarrow", "io"), 0, dict(part.partitions)
    task, _, value = layout.columns
    needed = [value] if task in labels else [task, value]
    batches = parquet.iter_batches(_ROWS, row_groups=[group], columns=needed, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"row group {group}: cannot be read as Parquet, damaged or cut short ({error})") from error
        if batch is None:
            return
        place = f"row group {group}"
        values = _values(batch.column(value), value, wanted.support, place, start)
        given = pa.repeat(labels[task], len(values)) if task in labels else batch.column(task)
        yield Rows(_tasks(given, task, layout.tasks, place, start), values)
        start += len(values)


def _tasks(column: Any, name: str, kind: str, place: str, start: int) -> Any:
    """The labels in one type, so that those of several files compare."""
    pa, compute = import_extra("pyarrow", "io"), import_extra("pyarrow.compute", "io")
    column = _plain(column, name, place, start)
    try:
        column = column.cast(pa.int64() if kind == "integers" else pa.large_string())
    except pa.ArrowInvalid as error:
        raise ValueError(f"{place}: column {name} holds integers beyond 64 bits ({error})") from error
    blank = -1 if kind == "integers" else compute.index(column, pa.scalar("", pa.large_string())).as_py()
    if blank >= 0:
        raise ValueError(f"{place}, row {start + blank}: {name} is empty, expected an entry")
    return column


def _values(column: Any, name: str, support: tuple[float, float], place: str, start: int) -> np.ndarray:
    """The returns as float64, successes as 1; each of them possible."""
    pa = import_extra("pyarrow", "io")
    column = _plain(column, name, place, start)
    try:
        whole = column.cast(pa.float64()) if pa.types.is_integer(column.type) else column
    except pa.ArrowInvalid as error:
        raise ValueError(f"{place}: column {name} holds integers that float64 cannot hold ({error})") from error
    values = whole.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    wrong = ~((values >= support[0]) & (values <= support[1]))
    if wrong.any():
        row, ends = int(np.argmax(wrong)), "({:g}, {:g})".format(*support)
        raise ValueError(
            f"{place}, row {start + row}: {name} is {values[row]:g}, expected a number in the support {ends}; "
            f"{wrong.sum()} of the {len(values)} rows from {start} on hold others"
        )
    return values


def _plain(column: Any, name: str, place: str, start: int) -> Any:
    """The entries of a column, none of which is missing; a dictionary may hold a missing one, too."""
    column = column.cast(_plain_type(column.type))
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"{place}, row {start + row}: {name} is empty, expected an entry; {column.null_count} of the {len(column)} "
            f"rows from {start} on are"
        )
    return column
