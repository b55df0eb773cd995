"""The Parquet files of a folder and its partitions, and their rows, a batch at a time, each checked."""

import functools
import hashlib
import os
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._coded import Coded, as_objects, of_series, plain_type
from jaxcert.tables._content import damage_told, in_file
from jaxcert.tables._doubts import WORDS, listed, tell
from jaxcert.tables._file_tables import as_plain, small_columns
from jaxcert.tables._names import lowered, tells
from jaxcert.tables._read import Read, aside_in_folder, check_beside
from jaxcert.tables._roles import Columns, Roles, checked

_SUFFIX = ".parquet"
# Where Hive and Spark put rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Rows that are held at once, and bytes of a column that are read ahead: what memory needs besides the summary.
_ROWS, _BYTES = 2**20, 2**20
_LOOKED_AT = 2**17  # rows of each file in which entries are looked at, unless a name asks for all
_TASKS = {"is_integer": "integers", "is_string": "text", "is_large_string": "text"}
_VALUES = {"is_boolean": "booleans", "is_integer": "numbers", "is_floating": "numbers"}


class Layout(NamedTuple):
    """Properties that all files of a folder must share."""

    columns: Columns  # of tasks and returns; there is none of episodes
    tasks: str  # "integers" or "text"
    values: str  # "booleans" or "numbers"
    partitions: tuple[str, ...]  # the names of the folders around the file


class Files:
    """The files of a folder, which are all of one layout and one policy; each is the same while it is read.

    ``task`` is a column or a partition; partitions ``across`` do not tell tasks apart.
    """

    def __init__(self, folder: Path, task: str, value: str, across: Sequence[str]) -> None:
        self.folder, self.parts, self._wanted = folder, _parts_of(folder), (Roles(task, None, value), across)
        self.digests: dict[str, str] = {}
        self._policy: dict[str, str] = {}
        first, outer = next(iter(self.parts.items()))
        with in_file(folder / first):
            self.names, self.layout = _layout(_parquet(folder / first), outer, *self._wanted)

    def batches(self, support: tuple[float, float]) -> Iterator[tuple[Any, np.ndarray]]:
        """The rows of all files: the label of each task, an array of pyarrow, and its return, float64.

        After the last one ``digests`` has the SHA-256 of each file. Errors name the file and the row.
        """
        seen: dict[tuple[str, str | None], str] = {}
        for name, outer in self.parts.items():
            with in_file(self.folder / name), (self.folder / name).open("rb") as file:
                before = os.fstat(file.fileno())
                digest = self.digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
                if other := seen.get((digest, outer.get(self.layout.columns.task))):  # rollouts would count twice
                    raise ValueError(f"has the same content as {other}, byte for byte; expected no copies")
                seen[digest, outer.get(self.layout.columns.task)] = name
                file.seek(0)
                yield from self._rows(_parquet(file), outer, support)
                after = os.fstat(file.fileno())
                if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                    raise ValueError("changed while it was read")  # the digest may be of other rows

    def _rows(
        self, parquet: Any, outer: Mapping[str, str], support: tuple[float, float]
    ) -> Iterator[tuple[Any, np.ndarray]]:
        (task, _, value), label = self.layout.columns, outer.get(self.layout.columns.task)
        (names, layout), policy = _layout(parquet, outer, *self._wanted), _policy_in(parquet, label, self.layout)
        if other := sorted({*names} ^ {*self.names}):
            raise ValueError(f"has other columns than the first file, {listed(other)}; expected the same in each")
        if layout != self.layout or policy | self._policy != self._policy | policy:
            expected = f"expected, as in the first file, {_shown(self.layout, self._policy)}"
            raise ValueError(f"has {_shown(layout, policy)}; {expected}")
        self._policy |= policy
        start = 0
        for batch in _rows_of(parquet, [value] if label is not None else [task, value], _ROWS):
            values = _entries(batch.column(value), value, layout.values, start).to_numpy(zero_copy_only=False)
            wrong = ~((values >= support[0]) & (values <= support[1]))
            _check(wrong, values, value, "a number in the support ({:g}, {:g})".format(*support), start)
            given = import_extra("pyarrow", "io").repeat(label, len(values)) if label else batch.column(task)
            yield _entries(given, task, layout.tasks, start), values
            start += len(values)


# --- which files there are -----------------------------------------------------------------------------------------


def _parts_of(folder: Path) -> dict[str, dict[str, str]]:
    """The partitions around each file of a folder, by its path there with slashes.

    Those that begin with `_` or `.`, such as `_SUCCESS`, are no data by convention; but a Parquet file among them is
    refused, as is a link to nothing, since the rows that it stands for would be missing. Links to files are followed.
    """
    if not folder.is_dir():
        if folder.exists():
            raise ValueError(f"{folder}: is a file, expected a folder of Parquet files")
        raise FileNotFoundError(f"{folder}: no such folder")
    no_schema = import_extra("pyarrow", "io").schema([])  # each file is looked at later
    paths = import_extra("pyarrow.dataset", "io").dataset(folder, schema=no_schema, format="parquet").files
    names = sorted(Path(path).relative_to(folder).as_posix() for path in paths)
    if not names:
        raise ValueError(f"{folder}: holds no Parquet file, expected at least one")
    rows = (path for path in folder.rglob("*") if path.suffix == _SUFFIX or not path.exists())
    if missing := sorted({path.relative_to(folder).as_posix() for path in rows} - set(names)):
        expected = "expected no links to nothing, and no Parquet files at paths where a name begins with _ or ."
        raise ValueError(f"{folder / missing[0]}: its rows would be left out; {expected}")
    with in_file(folder):
        return {name: _partitions(name.split("/")[:-1]) for name in names}


def _partitions(folders: Sequence[str]) -> dict[str, str]:
    """The names and values of folders, the outermost first."""
    found: dict[str, str] = {}
    for folder in folders:
        name, value = _partition(folder)
        if name in found:  # tasks of one label would be merged
            raise ValueError(f"{folder}: is a partition {name} within another one, expected each name once")
        found[name] = value
    return found


def _partition(folder: str) -> tuple[str, str]:
    """Name and value of a folder `name=value`, in which special characters are percent-encoded."""
    name, equals, value = folder.partition("=")
    if not (name and equals and value) or value == _NO_VALUE:
        raise ValueError(f"{folder}: expected a partition, a folder with a name such as task=push")
    return name, urllib.parse.unquote(value, errors="strict")


# --- what a file holds ---------------------------------------------------------------------------------------------


def _parquet(file: Any) -> Any:
    with damage_told("Parquet"):
        open_file = import_extra("pyarrow.parquet", "io").ParquetFile
        return open_file(file, page_checksum_verification=True, buffer_size=_BYTES, pre_buffer=False)


def _rows_of(parquet: Any, columns: list[str], size: int) -> Iterator[Any]:
    """The rows, in batches of at most this size."""
    batches = parquet.iter_batches(size, columns=columns, use_threads=False)
    while True:
        with damage_told("Parquet"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _first_of(parquet: Any, columns: list[str], size: int) -> list[Any]:
    """Batches with the first rows, at least as many as this size: a batch of categories ends with its row group."""
    found, count = [], 0
    for batch in _rows_of(parquet, columns, size):
        found.append(batch)
        count += len(batch)
        if count >= size:
            break
    return found


def _layout(parquet: Any, outer: Mapping[str, str], roles: Roles, across: Sequence[str]) -> tuple[list[str], Layout]:
    """The columns of a file, read only from its head, and their roles."""
    schema = parquet.schema_arrow
    names = [*schema.names, *(name for name in outer if name not in across)]
    columns = checked(names, roles)
    if columns.value not in names:
        raise ValueError(f"counts trials in {columns.value}; expected one row per trial in a folder of Parquet files")
    if columns.value in outer:
        raise ValueError(f"{columns.value} is a partition, expected a column of returns")
    told = {name: tells(name) for name in across}
    if pooled := sorted(n for n, each in told.items() if each.apart or each.ending or each.moment):
        tell("partitions_across", names=listed(pooled))
    if unnamed := sorted(outer.keys() - {columns.task, *across}):
        raise ValueError(
            f"lies in partitions {', '.join(unnamed)}, which may tell tasks apart; expected the partition of tasks "
            "as task, and those that do not tell tasks apart in across"
        )
    if unknown := sorted(set(across) - outer.keys()):
        raise ValueError(f"lies in no partition {', '.join(unknown)}, which across names")
    tasks = "text" if columns.task in outer else _kind(schema.field(columns.task), _TASKS, "integers or text")
    values = _kind(schema.field(columns.value), _VALUES, "booleans or numbers, integers or floats")
    return names, Layout(columns, tasks, values, tuple(outer))


def _shown(layout: Layout, policy: Mapping[str, str]) -> str:
    within = f"in partitions {', '.join(layout.partitions)}" if layout.partitions else "in no partition"
    entries = "".join(f", {name} {entry}" for name, entry in policy.items())
    return f"{layout.values} in {layout.columns.value}, {layout.tasks} in {layout.columns.task}, {within}{entries}"


def _policy_in(parquet: Any, label: str | None, layout: Layout) -> dict[str, str]:
    """The entries that name the policy of a file, whose columns are looked at as those of a single table.

    All rows are looked at where a name asks for it, and the first rows where only entries tell something.
    """
    told, found = _names_to_judge(parquet, layout), {}
    by = [layout.columns.task] * (not label) + [layout.columns.value] * (layout.values == "booleans")
    every = [name for name in told if told[name] and not _is_one_entry(parquet.metadata, name)]
    for names, size in (([name for name in told if name not in every], _LOOKED_AT), (every, parquet.metadata.num_rows)):
        if names and (batches := _first_of(parquet, [*by, *names], size)):
            table = import_extra("pyarrow", "io").Table.from_batches(batches)
            entries = functools.cache(lambda name, table=table: of_series(as_plain(table.column(name))))
            task = Coded(as_objects([label]), np.zeros(len(table), np.int64)) if label else entries(by[0])
            values = [entries(layout.columns.value)] if layout.values == "booleans" else []
            read = Read(layout.columns, task, None, names, entries, values, picked="")
            check_beside(read, aside_in_folder)
            found |= read.constant
    of_policy = (name for name in found if tells(name).policies or tells(name).curve)
    return {name: found[name] for name in of_policy}


def _names_to_judge(parquet: Any, layout: Layout) -> dict[str, bool]:
    """The columns that may tell of policies, help and training; and whether their names do, rather than only entries.

    Numbers with a point are looked at only where a name asks for it, and labels of trials are not.
    """
    types, found, schema = import_extra("pyarrow.types", "io"), {}, parquet.schema_arrow
    once = (name for name in small_columns(parquet) if schema.names.count(name) == 1)
    for name in (name for name in once if name not in layout.columns):
        told, kind = tells(name), schema.field(name).type
        is_told = told.apart or told.moment or told.aside or lowered(name) in WORDS.steps
        numbers_trials = types.is_integer(kind) and told.trial and not told.apart
        if is_told or not (types.is_floating(kind) or numbers_trials):
            found[name] = is_told
    return found


def _is_one_entry(head: Any, name: str) -> bool:
    """Whether a column holds one entry in all rows, by the head of the file."""
    groups = (head.row_group(i) for i in range(head.num_row_groups))
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    told = [each.statistics for each in columns if each.path_in_schema == name]
    are_known = all(each is not None and each.has_min_max and each.has_null_count for each in told)
    if not are_known or any(each.null_count or not isinstance(each.min, str | int) for each in told):
        return False  # NaN is no part of smallest and largest numbers
    return len({entry for each in told for entry in (each.min, each.max)}) == 1


def _kind(field: Any, kinds: dict[str, str], expected: str) -> str:
    types = import_extra("pyarrow.types", "io")
    for name, words in kinds.items():
        if getattr(types, name)(plain_type(field.type)):
            return words
    raise ValueError(f"column {field.name} holds {field.type}, expected {expected}")


def _entries(column: Any, name: str, kind: str, start: int) -> Any:
    """The entries in one type, so that those of several files can be compared; none of them may be empty."""
    pa, compute = import_extra("pyarrow", "io"), import_extra("pyarrow.compute", "io")
    kinds = {"integers": pa.int64(), "text": pa.large_string()}
    try:
        column = column.cast(plain_type(column.type)).cast(kinds.get(kind, pa.float64()))
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"column {name} holds integers that {kinds.get(kind, 'float64')} cannot hold ({error})"
        ) from error
    empty = compute.equal(column.fill_null(""), "") if kind == "text" else column.is_null()
    _check(empty.to_numpy(zero_copy_only=False), None, name, "an entry", start)
    return column


def _check(wrong: np.ndarray, values: Any, name: str, expected: str, start: int) -> None:
    """Name the first row that is wrong; without ``values`` it is empty."""
    if wrong.any():
        row = int(np.argmax(wrong))
        shown, count = "empty" if values is None else f"{values[row]:g}", f"{wrong.sum()} of the {len(wrong)}"
        told = f"row {start + row + 1}: {name} is {shown}, expected {expected}"
        raise ValueError(f"{told}; {count} rows from {start + 1} on are none")
