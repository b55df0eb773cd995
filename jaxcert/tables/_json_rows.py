"""Rows of JSON: an object in each line, or an array of objects; a list in a field is no number and no label."""

import json
from collections.abc import Iterator
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import parsed
from jaxcert.tables._pooled import tells_endings
from jaxcert.tables._roles import Roles
from jaxcert.tables._table_rows import checked

# Lines that say which fields there are, and of which kind.
_HEAD = 1000
# Lists, objects, or entries of several kinds.
_MIXED = "mixed"
# One line of a transcript may be long; more is no row of a table.
_LONGEST_LINE = 2**28


def json_lines_table(content: bytes, roles: Roles) -> tuple[Any, list[str]]:
    """The rows of a file with an object in each line, and the names of its fields."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    kinds = _kinds(_rows(content, _HEAD))
    try:
        table = _table(content, kinds, "infer")
    except import_extra("pyarrow", "io").ArrowInvalid:  # a field of several kinds, or damage: every line is looked at
        rows = _rows(content)
        kinds = _kinds(rows)
        checked(list(kinds), roles)
        table = _of_all_lines(content, kinds, rows)
    names = table.column_names
    columns = checked(names, roles)
    read = (*columns.of_task(names), columns.trial, *columns.of_value(names))
    if wrong := next((name for name in read if kinds.get(name or "") == _MIXED), None):
        raise ValueError(f"field {wrong} holds lists, objects or several kinds of entries; expected text or numbers")
    return table, names


def json_table(content: bytes, roles: Roles) -> tuple[Any, list[str]]:
    """The rows of an array of objects, which may stand deeper in the file."""
    try:
        rows = parsed(content)
    except ValueError as error:
        raise ValueError(f"cannot be read as JSON, damaged or cut short ({error})") from error
    for name in roles.records.split(".") if roles.records else ():
        if not isinstance(rows, dict) or name not in rows:
            found = ", ".join(map(repr, list(rows)[:8])) if isinstance(rows, dict) else "no object"
            raise ValueError(f"has no field {name!r} of records {roles.records!r:.60}; found {found}")
        rows = rows[name]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        found = list(_lists(rows, f"{roles.records}." if roles.records else ""))
        place = f", or their place by records (--records {found[0]})" if found else ""
        if len(found) > 1:
            place = f", or the place of one of their lists by records (--records): {', '.join(found)[:200]}"
        raise ValueError(f"is of no known tool and no array of objects; expected one object per trial{place}")
    return json_lines_table("\n".join(map(json.dumps, rows)).encode(), roles)


def _lists(value: Any, path: str) -> Iterator[str]:
    """Where in an object lists of objects stand."""
    for name, each in value.items() if isinstance(value, dict) else ():
        is_list = isinstance(each, list) and each and all(isinstance(row, dict) for row in each)
        if is_list and not tells_endings(name):  # rows are not chosen by how they ended
            yield path + name
        yield from _lists(each, f"{path}{name}.")


def _rows(content: bytes, most: int = -1) -> list[dict[str, Any]]:
    """The objects of the first lines, or of all; a blank line is none."""
    lines = content.split(b"\n", most)
    return [_object(line) for line in (lines[:most] if most > 0 else lines) if line.strip()]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = parsed(line)
    except ValueError as error:
        raise ValueError(f"cannot be read as JSON Lines, damaged or cut short ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"has the line {line[:40]!r}; expected an object in each line")
    return found


def _kinds(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Of each field the kind of its entries, "text" if it is always null."""
    kinds: dict[str, str] = {}
    for row in rows:
        for name, entry in row.items():
            found, before = _kind(entry), kinds.setdefault(name, "")
            if not before or {found, before} == {"integers", "numbers"}:
                kinds[name] = max(found, before)  # of these two, "numbers" holds both
            elif found and found != before:
                kinds[name] = _MIXED
    return {name: kind or "text" for name, kind in kinds.items()}


def _kind(entry: Any) -> str:
    if entry is None:
        return ""
    if isinstance(entry, int) and abs(entry) >= 2**63:
        return _MIXED
    return {bool: "booleans", int: "integers", float: "numbers", str: "text"}.get(type(entry), _MIXED)


def _table(content: bytes, kinds: dict[str, str], others: str) -> Any:
    """The fields of one kind as a table of pyarrow; ``others`` says what becomes of the rest, "infer" or "ignore"."""
    pa, reader = import_extra("pyarrow", "io"), import_extra("pyarrow.json", "io")
    types = {"booleans": pa.bool_(), "integers": pa.int64(), "numbers": pa.float64(), "text": pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items() if kind != _MIXED])
    options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
    reading = reader.ReadOptions(use_threads=False, block_size=min(_LONGEST_LINE, max(len(content), 1)))
    return reader.read_json(pa.BufferReader(content), reading, options)


def _of_all_lines(content: bytes, kinds: dict[str, str], rows: list[dict[str, Any]]) -> Any:
    """The table where fields of several kinds are as they are written: whether rows differ in them is to be seen."""
    pa = import_extra("pyarrow", "io")
    try:
        table = _table(content, kinds, "ignore")
    except pa.ArrowInvalid as error:
        raise ValueError(f"cannot be read as JSON Lines ({error})") from error
    for name in (name for name, kind in kinds.items() if kind == _MIXED):
        table = table.append_column(name, pa.array([json.dumps(row.get(name), sort_keys=True) for row in rows]))
    return table
