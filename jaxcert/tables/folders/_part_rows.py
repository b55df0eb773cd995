"""The rows of one Parquet file after another, a batch at a time, each checked."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import in_file, unreadable
from jaxcert.tables._columns import Columns
from jaxcert.tables._pooled import is_curve, is_moment, names_policies, tells_apart, tells_endings
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
        policy: columns of policies and moments of training, with the entry of each in the file; None without one.
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
        policy = "".join(f", {name} {entry}" for name, entry in self.policy if entry is not None)
        return f"{self.values} in {self.columns.value}, {self.tasks} in {self.columns.task}, {within}{policy}"

    def is_like(self, other: "Layout") -> bool:
        """Whether the files may be of one policy: in an entry that both have they do not differ."""
        pairs = [(entry, dict(self.policy).get(name)) for name, entry in other.policy]
        return self._replace(policy=()) == other._replace(policy=()) and all(None in (a, b) or a == b for a, b in pairs)


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
    """What the columns of a file are; of its rows only columns that may tell policies apart are read."""
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
        if not found.is_like(expected):
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
    told = [name for name in (*schema.names, *outer) if name not in columns and (tells_apart(name) or is_moment(name))]
    entries = ((name, outer.get(name) or _entry_in(parquet, columns.task, name)) for name in told)
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
    return Layout(columns, tasks, values, tuple(outer), Columns.unnamed_in(names), policy)


def _entry_in(parquet: Any, task: str, name: str) -> Any:
    """The one entry of a column in a file; None if it has several, each for tasks of its own, or lists or objects.

    Raises:
        ValueError: in a group of rows a task has several entries, or the file is damaged.
    """
    pa, schema, found = import_extra("pyarrow", "io"), parquet.schema_arrow, set()
    if schema.names.count(name) > 1 or pa.types.is_nested(schema.field(name).type):
        return None
    by = [task] if task in schema.names else []
    for group in range(parquet.num_row_groups):
        try:
            rows = parquet.read_row_group(group, columns=[*by, name], use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"row group {group}: cannot be read as Parquet, damaged or cut short ({error})") from error
        counts = rows.group_by(by).aggregate([(name, "count_distinct")]).column(f"{name}_count_distinct").to_pylist()
        # The length of an episode differs from one to the next.
        if max(counts, default=0) > 1 and (tells_apart(name) or is_curve(name)):
            raise ValueError(
                f"rows of the same task differ in column {name!r:.42}: if it tells policies, conditions or moments of "
                "training apart, they are no trials of one policy; expected files of one of them, or without it"
            )
        found |= set(rows.column(name).unique().to_pylist()[:2])
    return next(iter(found)) if len(found) == 1 else None


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
