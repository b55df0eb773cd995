"""The rows of a file as a table of pyarrow: CSV, JSON Lines, arrays of objects in JSON, Parquet and Arrow."""

import contextlib
import csv
import gzip
import io
import json
import re
from collections.abc import Collection
from typing import Any

from jaxcert._extras import import_extra
from jaxcert.tables._coded import plain_type
from jaxcert.tables._doubts import tell
from jaxcert.tables._entries import check_spelled_once
from jaxcert.tables._files import damage_told
from jaxcert.tables._json_records import BY_RECORDS, json_value, objects_of_lines, records_in
from jaxcert.tables._names import tells
from jaxcert.tables._picked_rows import conditions_in
from jaxcert.tables._roles import Roles, checked

_HEAD = 1000  # lines that say which fields there are, and of which type
_DELIMITERS = ",;\t"
_THOUSANDS, _SHORT = re.compile(r"-?[1-9][0-9]{0,2}([.,][0-9]{3})+", re.ASCII), re.compile("-?[0-9]{1,3}", re.ASCII)
# Lines before the names, of a spreadsheet or as comments; no column that is called #.
_NO_NAMES = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:sep=[^\n]*|#(?:[^,;\t\n][^\n]*)?)(?:\n|$))+")
_NAMES_BEHIND = re.compile(rb"(?:\xef\xbb\xbf)?#\s*[^\s,;\t][^\n]*[,;\t]")
_QUOTED_IN_LINES = re.compile(rb'[^"]*+(?:"[^"\r\n]*+"[^"]*+)*+')  # up to a quote that its line does not close
_LONGEST_HEADER = _LONGEST_LINE = 2**20  # bytes
_LONGEST_LABEL, _FIRST = 64, 8  # bytes of a label that is no text, and entries that are looked at for their size


# --- CSV -----------------------------------------------------------------------------------------------------------


def csv_table(content: bytes, roles: Roles) -> Any:
    """The rows of a CSV file: with commas, or with semicolons or tabs and then decimal points or commas."""
    if no_names := _NO_NAMES.match(content):
        lines = len(no_names[0].splitlines())
        first = f"begins with {'a line' if lines < 2 else f'{lines} lines'} without names of columns"
        names = ", or, if these are the names, without the #" if _NAMES_BEHIND.match(content) else ""
        raise ValueError(f"{first}; expected them in the first line (tail -n +{lines + 1} FILE > NEW){names}")
    table, delimiter = text_table(content, roles.named)
    names, columns = table.column_names, checked(table.column_names, roles)
    trim = import_extra("pyarrow.compute", "io").utf8_trim_whitespace
    for place, name in enumerate(names):
        column = table.column(place)
        if name in columns.of_task(names):
            check_spelled_once(column.unique().to_pylist(), f"column {name} holds")
        if name in columns.of_task(names) or name == columns.trial:
            table = table.set_column(place, name, trim(column))
        elif name in columns.of_value(names):
            table = table.set_column(place, name, _with_points(column, name, may_be_commas=delimiter != ","))
    if not content.endswith((b"\n", b"\r")):
        tell("last_line")
    return table


def text_table(content: bytes, wanted: set[str]) -> tuple[Any, str]:
    """The rows of a CSV file, all as text, and its delimiter, by the names of columns that are ``wanted``."""
    pa, reader = import_extra("pyarrow", "io"), import_extra("pyarrow.csv", "io")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("is text in UTF-16; expected UTF-8, as which editors and spreadsheets save it, too")
    if b"\0" in content:
        raise ValueError("not a CSV file: it holds bytes that are not text")
    _check_quotes(content)
    delimiter, header = _header(content, wanted)
    reading = reader.ReadOptions(use_threads=False, block_size=_LONGEST_LINE)  # with threads no message gives the row
    # As text, so that a value that is not a number can be named.
    converting = reader.ConvertOptions(column_types=dict.fromkeys(header, pa.string()))
    with damage_told("CSV"):
        parsing = reader.ParseOptions(delimiter=delimiter)
        return reader.read_csv(pa.BufferReader(content), reading, parsing, converting), delimiter


def _check_quotes(content: bytes) -> None:
    """Refuse an entry that goes on in the next line: where a quote was lost, rows would silently become part of it."""
    closed = _QUOTED_IN_LINES.match(content)
    if closed and closed.end() < len(content):
        line = content[: closed.end()].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
        raise ValueError(f"line {line}: has a quote without another one, expected each rollout on a line of its own")


def _header(content: bytes, wanted: set[str]) -> tuple[str, list[str]]:
    """The delimiter at which the first row has the most of the columns or, if none has any, names; and these names."""
    start = content[:_LONGEST_HEADER].decode("utf-8-sig", "replace")
    try:  # empty lines before the names do not count, as elsewhere in a table
        rows = {mark: csv.reader(io.StringIO(start, newline=""), delimiter=mark) for mark in _DELIMITERS}
        names = {mark: next(filter(None, each), []) for mark, each in rows.items()}
    except csv.Error as error:
        too_long = "too long for a table of returns"
        raise ValueError(f"its first line cannot be read as names of columns, {too_long} ({error})") from error
    mark = max(_DELIMITERS, key=lambda mark: (len(wanted.intersection(names[mark])), len(set(names[mark]))))
    return mark, [*wanted, *names[mark]]


def _with_points(column: Any, name: str, *, may_be_commas: bool) -> Any:
    """Replace decimal commas by decimal points; a file separated by commas has no decimal commas."""
    entries = [entry.strip() for entry in column.unique().to_pylist() if entry]
    commas, points = ([each for each in entries if mark in each] for mark in ",.")
    if may_be_commas and commas and points:
        raise ValueError(f"column {name} has decimal points and commas, expected one of them")
    marked = points or (commas if may_be_commas else [])
    short = [each for each in entries if _SHORT.fullmatch(each)]
    may_be_thousands = all(map(_THOUSANDS.fullmatch, marked)) and len(marked) + len(short) == len(entries)
    # If all entries have three decimals, commas may separate thousands, but not beside whole numbers below 1000.
    if marked and may_be_thousands and (may_be_commas or short):
        tell("thousands", name=name, number=marked[0])
    replace = import_extra("pyarrow.compute", "io").replace_substring
    return replace(column, ",", ".") if may_be_commas and commas else column


# --- JSON: an object in each line, or an array of objects; a list in a field is no number and no label -------------


def json_lines_table(content: bytes, roles: Roles) -> Any:
    """The rows of a file with an object in each line."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if roles.records is not None:
        return _table_of_value(objects_of_lines(content), roles)
    if (table := _plain_table(content, objects_of_lines(content, _HEAD))) is not None:
        checked(table.column_names, roles)
        return table
    return _table_of(objects_of_lines(content), roles)


def _plain_table(content: bytes, head: list[dict[str, Any]]) -> Any:
    """The rows by pyarrow, which is ten times as fast; None unless each field has one plain type, as in the head."""
    pa, reader = import_extra("pyarrow", "io"), import_extra("pyarrow.json", "io")
    plain = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), type(None): pa.string()}
    kinds: dict[str, set[type]] = {}
    for name, entry in (pair for row in head for pair in row.items()):
        kinds.setdefault(name, set()).add(type(entry))
    one = {name: types - {type(None)} or {type(None)} for name, types in kinds.items()}
    if not one or any(len(types) > 1 or not types <= plain.keys() for types in one.values()):
        return None
    schema = pa.schema([(name, plain[next(iter(types))]) for name, types in one.items()])
    parsing = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    reading = reader.ReadOptions(use_threads=False, block_size=min(2**28, len(content)))
    with contextlib.suppress(pa.ArrowException):
        return reader.read_json(pa.BufferReader(content), reading, parsing)
    return None


def json_table(content: bytes, roles: Roles) -> Any:
    """The rows of an array of objects or an object of columns, which may stand deeper in the file."""
    return _table_of_value(json_value(content), roles)


def _table_of_value(value: Any, roles: Roles) -> Any:
    """The rows of a value of JSON."""
    rows, around = records_in(value, roles.records or "")
    first = (each for row in rows[:1] for each in row.values())
    is_nested = isinstance(value, dict) or any(isinstance(each, dict | list) for each in first)
    hint = f"; expected one object per trial, {BY_RECORDS}" if is_nested and not roles.records else ""
    return _table_of(rows, roles, around, hint)


def _table_of(rows: list[dict[str, Any]], roles: Roles, around: Collection[str] = (), hint: str = "") -> Any:
    """The fields of objects as columns, null where an object lacks one; those ``around`` records are no outcomes.

    Entries of mixed kinds stay as they are written, so that differences between rows can be seen.
    """
    pa, table, mixed = import_extra("pyarrow", "io"), {}, set()
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = checked(names, roles, hint)
    if told := next((name for name in columns.of_value(names) if name in around), None):
        raise ValueError(f"field {told} stands around several records, once for all; expected a field of each")
    for name in names:
        entries = [row.get(name) for row in rows]
        try:
            table[name] = pa.array(entries)
        except (pa.ArrowException, OverflowError):
            table[name] = pa.array([json.dumps(entry, sort_keys=True) for entry in entries])
            mixed.add(name)
        if len({bool, float} & {*map(type, entries)}) > 1 or pa.types.is_nested(table[name].type):  # true is not 1
            mixed.add(name)
    if wrong := next((name for name in columns.of_roles(names) if name in mixed), None):
        raise ValueError(
            f"field {wrong} holds lists, objects or several kinds of entries; expected text or numbers (a recipe, "
            "--recipe, names fields of objects)"
        )
    return pa.table(table)


# --- Parquet and Arrow ---------------------------------------------------------------------------------------------


def parquet_table(content: bytes, roles: Roles) -> Any:
    """The rows of a Parquet file. Columns of long lists and bytes, such as pictures, are null and are not read."""
    pa = import_extra("pyarrow", "io")
    if not content.startswith(b"PAR1"):
        raise ValueError("not a Parquet file: it does not start with PAR1")
    file = open_parquet(pa.BufferReader(content))
    names = file.schema_arrow.names
    read = checked(names, roles).of_roles(names)
    wanted = {*read, roles.policy, *(name for name, *_ in conditions_in(names, roles)), *small_columns(file)}
    with damage_told("Parquet"):
        table = file.read(columns=[name for name in names if name in wanted])
    columns, unread = iter(table.columns), pa.nulls(len(table))
    found = [(name, next(columns) if name in wanted else unread) for name in names]
    return pa.table([each if name in read else as_plain(each) for name, each in found], names=names)


def open_parquet(file: Any, **options: Any) -> Any:
    """A Parquet file whose pages are compared with their checksums, where these are written."""
    with damage_told("Parquet"):
        return import_extra("pyarrow.parquet", "io").ParquetFile(file, page_checksum_verification=True, **options)


def small_columns(file: Any) -> list[str]:
    """The columns of a Parquet file that may tell policies apart; by their first entries, others are too large."""
    names, held = file.schema_arrow.names, [each.name for each in file.schema_arrow if not _is_plain(each.type)]
    with damage_told("Parquet"):
        first = next(file.iter_batches(batch_size=_FIRST, columns=held), None) if held else None
    sizes = () if first is None else zip(first.schema.names, first.columns, strict=True)
    large = {name for name, column in sizes if column.nbytes > _LONGEST_LABEL * len(column)}
    return [name for name in names if tells(name).looked_at or name not in large]


def as_plain(column: Any) -> Any:
    """A column, of lists or bytes as texts."""
    if _is_plain(column.type):
        return column
    pa, listed = import_extra("pyarrow", "io"), column.to_pylist()
    texts = (each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in listed)
    return pa.chunked_array([[None if each is None else str(each) for each in texts]], pa.string())


def _is_plain(kind: Any) -> bool:
    """Whether entries may tell policies apart."""
    types, kind = import_extra("pyarrow.types", "io"), plain_type(kind)
    large = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return types.is_struct(kind) or not (types.is_nested(kind) or any(is_of(kind) for is_of in large))


def arrow_table(content: bytes, _: Roles) -> Any:
    """The rows of a file of Arrow or Feather."""
    pa, ipc = import_extra("pyarrow", "io"), import_extra("pyarrow.ipc", "io")
    with damage_told("Arrow"):
        return ipc.open_file(pa.BufferReader(content)).read_all()


def unpacked(content: bytes) -> bytes:
    """The content of a gzip file, whose end holds the digest and the length of the content."""
    with damage_told("a gzip file"):
        return gzip.decompress(content)
