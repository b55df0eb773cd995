"""One Parquet file of a folder: its rows, batch by batch, and a look at the columns beside those that are read."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._coded import Coded, as_objects, of_series, plain_type
from jaxcert.tables._doubts import WORDS
from jaxcert.tables._entries import shown
from jaxcert.tables._file_tables import as_plain, small_columns
from jaxcert.tables._files import damage_told
from jaxcert.tables._names import lowered, tells
from jaxcert.tables._read import Read, aside_in_folder, check_beside
from jaxcert.tables._roles import Columns

# Rows that are held at once: what memory needs besides the summary.
ROWS = 2**18
_LOOKED_AT = 2**17  # rows of each file in which entries are looked at at least, unless a name asks for all


class Layout(NamedTuple):
    """Properties that all files of a folder must share."""

    columns: Columns  # of tasks and returns; there is none of episodes
    tasks: str  # "integers" or "text"
    values: str  # "booleans" or "numbers"
    partitions: tuple[str, ...]  # the names of the folders around the file


def batches_of(parquet: Any, columns: list[str], size: int) -> Iterator[Any]:
    """The rows as tables, of so many rows at most: a batch of categories ends with its row group."""
    batches = parquet.iter_batches(size, columns=columns, use_threads=False)
    while True:
        with damage_told("Parquet"):
            batch = next(batches, None)
        if batch is None:
            return
        yield import_extra("pyarrow", "io").Table.from_batches([batch])


def _first_of(parquet: Any, columns: list[str], size: int) -> Any:
    """A table with the first rows, at least as many as this size if there are."""
    found, count = [], 0
    for rows in batches_of(parquet, columns, min(size, ROWS)):
        found.append(rows)
        count += len(rows)
        if count >= size:
            break
    return import_extra("pyarrow", "io").concat_tables(found) if found else None


def constant_in(parquet: Any, label: str | None, layout: Layout, beside: Mapping[str, bool]) -> dict[str, str]:
    """The entries of columns that are constant in a file, after a look at all of them as at those of a single table.

    All rows are looked at where a name asks for it, since an order by such a column shows in no part of them; and the
    first rows where only entries tell something.
    """
    by, found = [layout.columns.task] * (not label) + [layout.columns.value] * (layout.values == "booleans"), {}
    every = [name for name in beside if beside[name] and not _is_one_entry(parquet.metadata, name)]
    some = [name for name in beside if name not in every]
    for names, size in ((some, _LOOKED_AT), (every, parquet.metadata.num_rows)):
        if not names or (table := _first_of(parquet, [*by, *names], size)) is None:
            continue
        entries = functools.cache(lambda name, table=table: of_series(as_plain(table.column(name))))
        task = Coded(as_objects([label]), np.zeros(len(table), np.int64)) if label else entries(by[0])
        values = [entries(layout.columns.value)] if layout.values == "booleans" else []
        read = Read(layout.columns, task, None, names, entries, values, picked="")
        check_beside(read, aside_in_folder)
        found |= read.constant
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


def names_to_judge(parquet: Any, layout: Layout) -> dict[str, bool]:
    """The columns that may tell of policies, help and training; and whether their names do, rather than only entries.

    Numbers with a point are looked at only where a name asks for it, and labels of trials are not.
    """
    types, found, schema = import_extra("pyarrow.types", "io"), {}, parquet.schema_arrow
    once = (name for name in small_columns(parquet) if schema.names.count(name) == 1)
    for name in (name for name in once if name not in layout.columns):
        told, kind = tells(name), schema.field(name).type
        is_told = told.apart or told.moment or told.aside or told.seed or lowered(name) in WORDS.steps
        numbers_trials = types.is_integer(kind) and told.trial and not told.apart
        if is_told or not (types.is_floating(kind) or numbers_trials):
            found[name] = is_told
    return found


def in_one_type(column: Any, name: str, kind: str) -> Any:
    """The entries in one type, so that those of several files can be compared."""
    pa = import_extra("pyarrow", "io")
    wanted = {"integers": pa.int64(), "text": pa.string()}.get(kind, pa.float64())
    try:
        return column.cast(plain_type(column.type)).cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name} holds integers that {wanted} cannot hold ({error})") from error


def check_rows(wrong: np.ndarray, expected: str, rows: Any, name: str, start: int) -> None:
    """Name the first row that is wrong."""
    if wrong.any():
        row = int(np.argmax(wrong))
        told = f"row {start + row + 1}: {name} is {shown(rows.column(name)[row].as_py())}, expected {expected}"
        raise ValueError(f"{told}; {wrong.sum()} of the {len(wrong)} rows from {start + 1} on are none")
