"""Returns in arrays and in tables: what each type of file holds."""

import csv as lines
import functools
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert._archive import damage_told, read_arrays, whole_array
from jaxcert._extras import import_extra
from jaxcert.tables._columns import Columns
from jaxcert.tables._pooled import is_looked_at
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles
from jaxcert.tables._table_rows import checked


def read_npz(content: bytes) -> Returns:
    """The arrays `returns` and, if there is one, `where`; other arrays are not read."""
    if "rollout_return" in read_arrays(content, [], ["rollout_return"]):
        raise ValueError(
            "holds an adaptive run, whose returns are no sample of a fixed size: its certificate is in the file "
            "itself, and any other one needs new rollouts"
        )
    arrays = read_arrays(content, ["returns"], ["where"])
    returns, where = _checked_returns(arrays["returns"], "array 'returns'"), arrays.get("where")
    if where is not None and where.dtype != np.bool_:
        raise ValueError(f"array 'where' has dtype {where.dtype}, expected bool")
    if where is not None and where.shape != returns.shape:
        raise ValueError(f"array 'where' has shape {where.shape}, expected that of 'returns', {returns.shape}")
    return Returns(returns, where, np.arange(len(returns)))


def read_npy(content: bytes) -> Returns:
    """The one array of an `.npy` file. Nothing is ever unpickled."""
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("not an .npy file: it does not start as one")
    with damage_told(".npy"):
        array = whole_array(io.BytesIO(content))
    returns = _checked_returns(array, "its array")
    return Returns(returns, None, np.arange(len(returns)))


def _checked_returns(returns: np.ndarray, name: str) -> np.ndarray:
    """Returns as float32, float64 or bool [n, m]; integers become float64, float16 float32."""
    if returns.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {returns.dtype}, expected real numbers")
    if returns.ndim != 2:
        raise ValueError(f"{name} has shape {returns.shape}, expected [num_tasks, num_rollouts]{_way_on(returns)}")
    if returns.size == 0:
        raise ValueError(f"{name} has shape {returns.shape}, expected at least one task and one rollout")
    if returns.dtype == bool:
        return returns
    narrow = returns.dtype.kind == "f" and returns.dtype.itemsize <= 4
    return returns.astype(np.float32 if narrow else np.float64)


def _way_on(returns: np.ndarray) -> str:
    """What to do with returns of several policies or seeds: each has a certificate of its own."""
    if returns.ndim != 3:
        return ""
    count = len(returns)
    return (
        f"; of {count} policies or seeds, whose rollouts are none of one policy, write each, returns[i], to a file of "
        f"its own and certify it at delta / {count}; in Python jaxcert.certify takes all of them, one certificate for "
        "each"
    )


COLUMNS = tuple(Columns())
_DELIMITERS = ",;\t"
_LINE_END = re.compile(rb"[\r\n]")
_LONGEST_HEADER = 2**20  # bytes


def unpacked(content: bytes) -> bytes:
    """The content of a gzip file, whose end has the digest and the length of what was packed."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"cannot be read as a gzip file, damaged or cut short ({error})") from error


def csv_table(content: bytes, roles: Roles) -> tuple[Any, list[str]]:
    """The rows of a CSV file: with commas, or with semicolons or tabs and then decimal points or commas.

    Also the names of all of its columns.
    """
    pa, csv = import_extra("pyarrow", "io"), import_extra("pyarrow.csv", "io")
    if b"\0" in content:
        raise ValueError("not a CSV file: it holds bytes that are not text")
    check_quotes(content)
    delimiter, header = _header(content, roles.named)
    reading = csv.ReadOptions(use_threads=False)  # otherwise pyarrow's messages do not give the row
    # As text, so that a value that is not a number can be named.
    converting = csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string()))
    parsing = csv.ParseOptions(delimiter=delimiter)
    try:
        table = csv.read_csv(pa.BufferReader(content), reading, parsing, converting)
    except pa.ArrowException as error:
        if "straddling" in str(error):
            raise ValueError(
                f"a line of more than {reading.block_size} bytes is too long for a table of returns"
            ) from error
        raise ValueError(f"cannot be read as CSV, damaged or cut short ({error})") from error
    names = table.column_names
    columns = checked(names, roles)
    labels = [name for name in columns.of_task(names) if name in names]
    trimmed = _with_trimmed(table, *labels, columns.trial if columns.trial in names else None)
    for name in labels:
        _check_spelled_once(name, table.column(name), trimmed.column(name))
    if delimiter != ",":
        trimmed = functools.reduce(_with_points, columns.of_value(names), trimmed)
    return trimmed, names


def check_quotes(content: bytes) -> None:
    """Refuse an entry that goes on in the next line: where a quote was lost, rows would silently become part of it."""
    if b'"' not in content:
        return
    rows = _LINE_END.split(content.replace(b"\r\n", b"\n"))
    odd = next((i for i, row in enumerate(rows) if row.count(b'"') % 2), None)
    if odd is not None:
        raise ValueError(f"line {odd + 1}: has a quote without another one, expected each rollout on a line of its own")


def _header(content: bytes, wanted: set[str]) -> tuple[str, list[str]]:
    """The delimiter at which the first row has the most of the columns or, if none has any, names; and these names."""
    start = content[:_LONGEST_HEADER].decode("utf-8-sig", "replace")
    try:
        names = {mark: _first_row(lines.reader(io.StringIO(start, newline=""), delimiter=mark)) for mark in _DELIMITERS}
    except lines.Error as error:
        too_long = "too long for a table of returns"
        raise ValueError(f"its first line cannot be read as names of columns, {too_long} ({error})") from error
    mark = max(_DELIMITERS, key=lambda mark: (len(wanted.intersection(names[mark])), len(set(names[mark]))))
    return mark, [*wanted, *names[mark]]


def _first_row(rows: Iterator[list[str]]) -> list[str]:
    """The row of the names: empty lines before it do not count, as elsewhere in a table."""
    return next(filter(None, rows), [])


def _with_trimmed(table: Any, *names: str | None) -> Any:
    """The table with no blanks around the labels of these columns, as numbers may have them."""
    compute = import_extra("pyarrow.compute", "io")
    for name in filter(None, names):
        trimmed = compute.utf8_trim_whitespace(table.column(name))
        table = table.set_column(table.column_names.index(name), name, trimmed)
    return table


def _check_spelled_once(name: str, written: Any, trimmed: Any) -> None:
    """Refuse labels that differ in blanks alone: two tasks would silently become one, or one would become two."""
    compute = import_extra("pyarrow.compute", "io")
    if len(compute.unique(written)) == len(compute.unique(trimmed)):
        return
    seen: dict[str, tuple[int, str]] = {}
    for row, (label, spelled) in enumerate(zip(trimmed.to_pylist(), written.to_pylist(), strict=True), start=1):
        first, before = seen.setdefault(label, (row, spelled))
        if spelled != before:
            raise ValueError(
                f"rows {first} and {row}: {name} is {before!r:.40} and {spelled!r:.40}, which differ in blanks alone; "
                "expected one spelling of each task"
            )


def _with_points(table: Any, name: str) -> Any:
    """The table with decimal points in place of decimal commas."""
    compute = import_extra("pyarrow.compute", "io")
    place, column = table.column_names.index(name), table.column(name)
    commas, points = (compute.any(compute.match_substring(column, mark)).as_py() for mark in ",.")
    if commas and points:
        raise ValueError(f"column {name} has decimal points and commas, expected one of them")
    return table.set_column(place, name, compute.replace_substring(column, ",", ".")) if commas else table


def parquet_table(content: bytes, roles: Roles) -> tuple[Any, list[str]]:
    """The rows of a Parquet file, of the columns that may matter, and the names of all."""
    pa, parquet = import_extra("pyarrow", "io"), import_extra("pyarrow.parquet", "io")
    if not content.startswith(b"PAR1"):
        raise ValueError("not a Parquet file: it does not start with PAR1")
    if not content.endswith(b"PAR1") or len(content) < 12:
        raise ValueError("does not end with PAR1, damaged or cut short")
    try:
        file = parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        names = file.schema_arrow.names
        columns = checked(names, roles)
        read = {*columns.of_task(names), columns.trial, *columns.of_value(names), *roles.needed(names)}
        told = {field.name for field in file.schema_arrow if is_looked_at(field.name) or _holds_words(field.type)}
        table = file.read(columns=[name for name in names if name in read | told])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot be read as Parquet, damaged or cut short ({error})") from error
    return table, names


def _holds_words(kind: Any) -> bool:
    """Whether entries may be words, which may tell policies apart."""
    types = import_extra("pyarrow.types", "io")
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return any(is_of(kind) for is_of in (types.is_string, types.is_large_string, types.is_boolean, types.is_struct))


def arrow_table(content: bytes, _: Roles) -> tuple[Any, list[str]]:
    """The rows of a file of Arrow or Feather, and the names of its columns."""
    pa, ipc = import_extra("pyarrow", "io"), import_extra("pyarrow.ipc", "io")
    try:
        table = ipc.open_file(pa.BufferReader(content)).read_all()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot be read as Arrow, damaged or cut short ({error})") from error
    return table, table.column_names
