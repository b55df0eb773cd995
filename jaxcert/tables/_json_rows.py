"""Rows of JSON: an object in each line, or an array of objects; a list in a field is no number and no label."""

import json
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import parsed
from jaxcert.tables._columns import Columns
from jaxcert.tables._frames import arrange_table, check_names
from jaxcert.tables._pooled import is_looked_at
from jaxcert.tables._returns import Returns

# Lines that say which fields there are, and of which kind.
_HEAD = 1000
# One line of a transcript may be long; more is no row of a table.
_LONGEST_LINE = 2**28


def read_json_lines(content: bytes, wanted: Columns) -> tuple[Returns, list[str]]:
    """The rollouts of a file with an object in each line, and the names of its fields."""
    head = [_object(line) for line in _lines(content, _HEAD)]
    kinds = _kinds(head)
    columns = check_names(list(kinds), wanted)
    mixed = [name for name, kind in kinds.items() if kind == "mixed"]
    if wrong := next((name for name in (*columns, *columns.of_value(list(kinds))) if name in mixed), None):
        raise ValueError(f"field {wrong} holds lists, objects or several kinds of entries; expected text or numbers")
    table = _table(content, {name: kind for name, kind in kinds.items() if kind != "mixed"})
    told = [name for name in mixed if is_looked_at(name)]
    return arrange_table(_with_texts(table, content, told), columns), list(kinds)


def read_json(content: bytes, wanted: Columns) -> tuple[Returns, list[str]]:
    """The rollouts of an array of objects."""
    try:
        rows = parsed(content)
    except ValueError as error:
        raise ValueError(f"cannot be read as JSON, damaged or cut short ({error})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("is of no known tool and no array of objects; expected one object per trial")
    return read_json_lines("\n".join(map(json.dumps, rows)).encode(), wanted)


def _lines(content: bytes, most: int | None = None) -> list[bytes]:
    found = content.removeprefix(b"\xef\xbb\xbf").split(b"\n", -1 if most is None else most)[:most]
    return [line for line in found if line.strip()]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = parsed(line)
    except ValueError as error:
        raise ValueError(f"cannot be read as JSON Lines, damaged or cut short ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"has the line {line[:40]!r}; expected an object in each line")
    return found


def _kinds(head: list[dict[str, Any]]) -> dict[str, str]:
    """Of each field the kind of its entries in the first lines; "text" for one that is always null.

    Lists and objects are "mixed", as are entries of several kinds.
    """
    kinds: dict[str, str] = {}
    for row in head:
        for name, entry in row.items():
            found, before = _kind(entry), kinds.setdefault(name, "")
            if not before or {found, before} == {"integers", "numbers"}:
                kinds[name] = max(found, before)  # of these two, "numbers" holds both
            elif found and found != before:
                kinds[name] = "mixed"
    return {name: kind or "text" for name, kind in kinds.items()}


def _kind(entry: Any) -> str:
    if entry is None:
        return ""
    if isinstance(entry, dict | list):
        return "mixed"
    kinds = {bool: "booleans", int: "integers", float: "numbers", str: "text"}
    return kinds[type(entry)]


def _table(content: bytes, kinds: dict[str, str]) -> Any:
    """The fields that hold no lists or objects, as a table of pyarrow."""
    pa, reader = import_extra("pyarrow", "io"), import_extra("pyarrow.json", "io")
    types = {"booleans": pa.bool_(), "integers": pa.int64(), "numbers": pa.float64(), "text": pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = reader.ReadOptions(use_threads=False, block_size=min(_LONGEST_LINE, max(len(content), 1)))
    try:
        return reader.read_json(pa.BufferReader(content.removeprefix(b"\xef\xbb\xbf")), reading, options)
    except pa.ArrowInvalid as error:
        if "integers" in kinds.values() and "to int64" in str(error):  # a later line has a fraction
            return _table(content, {name: "numbers" if kind == "integers" else kind for name, kind in kinds.items()})
        raise ValueError(f"cannot be read as JSON Lines, damaged or of mixed kinds ({error})") from error


def _with_texts(table: Any, content: bytes, names: list[str]) -> Any:
    """The table with these nested fields, each entry as it is written: whether rows differ in them is to be seen."""
    if not names:
        return table
    pa, rows = import_extra("pyarrow", "io"), [_object(line) for line in _lines(content)]
    for name in names:
        table = table.append_column(name, pa.array([json.dumps(row.get(name), sort_keys=True) for row in rows]))
    return table
