"""Where the records of a JSON file stand: in a list, in lists or objects of named things, or as columns."""

from collections import Counter
from collections.abc import Iterator
from shlex import quote
from typing import Any

from jaxcert.tables._columns import is_value
from jaxcert.tables._told_names import tells_endings

_Record = dict[str, Any]


def records_in(value: Any, path: str) -> tuple[list[_Record], set[str]]:
    """The records at a path of names with dots, where ``*`` is each entry; and their fields that stand around them.

    What the first ``*`` stands for, a name or a number, is the field $1 of its records, and its own plain fields are
    theirs, too. Where a name occurs at several depths, the record's own field keeps it, and the others are $1.name.
    """
    steps = path.split(".") if path else []
    found = list(_walked(value, steps, path, ()))
    rows = [record if isinstance(record, dict) else {"outcome": record} for *_, record in found]
    if "*" not in steps:
        return rows, set()
    depths = list(zip(*(around for *around, _ in found), strict=True))
    names = [dict.fromkeys(name for each in depth for name in each) for depth in depths]
    times = Counter(name for each in [*names, dict.fromkeys(name for row in rows for name in row)] for name in each)
    called = [{name: name if times[name] == 1 else f"${i}.{name}" for name in each} for i, each in enumerate(names, 1)]
    for (*around, _), (i, row) in zip(found, enumerate(rows), strict=True):
        outer = {known[name]: entry for known, each in zip(called, around, strict=True) for name, entry in each.items()}
        rows[i] = outer | row
    return rows, {name for each in called for name in each.values()}


def _walked(value: Any, steps: list[str], path: str, around: tuple[_Record, ...]) -> Iterator[tuple[Any, ...]]:
    """Each record, after the fields of the entries around it; the first of these is the key."""
    if steps[:1] == ["*"] and isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            own = {f"${len(around) + 1}": key} | (_plain(each) if steps[1:] else {})
            yield from _walked(each, steps[1:], path, (*around, own))
    elif steps and isinstance(value, dict) and steps[0] in value:
        yield from _walked(value[steps[0]], steps[1:], path, around)
    elif steps:
        of = "".join(f" of {next(iter(each.values()))!r:.40}" for each in around[-1:])
        found = ", ".join(map(repr, list(value)[:8])) if isinstance(value, dict) else "no object"
        raise ValueError(f"has no field {steps[0]!r} of records {path!r:.60}{of}; found {found}")
    else:
        records = value if isinstance(value, list) else _of_columns(value) or ([value] if around else None)
        if records is None or not (around or all(isinstance(record, dict) for record in records)):
            raise ValueError(_not_records(value, path))
        if around and not records:
            raise ValueError(f"has no record of {next(iter(around[-1].values()))!r:.60} at {path}; expected some")
        yield from ((*around, record) for record in records)


def _plain(entry: Any) -> _Record:
    """The fields of an entry that may label all its records: what counts or averages outcomes is none of these."""
    fields = entry.items() if isinstance(entry, dict) else ()
    return {name: each for name, each in fields if isinstance(each, str | int) and not is_value(name)}


def _of_columns(value: Any) -> list[_Record]:
    """The rows of an object of columns: of lists of one length, or of objects with the same rows by number."""
    columns = list(value.values()) if isinstance(value, dict) else []
    if columns and all(isinstance(each, dict) and {*each} == {*columns[0]} for each in columns):
        numbers = columns[0] if all(map(str.isdecimal, columns[0])) else ()
        columns = [[each[number] for number in numbers] for each in columns]
    are_lists = all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns)
    if not are_lists or any(isinstance(entry, dict | list) for each in columns for entry in each):
        return []
    return [dict(zip(value, entries, strict=True)) for entries in zip(*columns, strict=True)]


def _not_records(value: Any, path: str) -> str:
    if isinstance(value, dict) and value and not any(isinstance(each, dict | list) for each in value.values()):
        return (
            "holds one object; expected all trials in one file, if each has a file of its own: an object in each line "
            "(.jsonl)"
        )
    return f"is of no known tool and no array of objects; expected one object per trial{places_in(value, path)}"


def places_in(value: Any, path: str = "") -> str:
    """Where records may stand, in words that go on after an error; empty for nowhere."""
    found = list(dict.fromkeys(map(quote, _places(value, f"{path}." if path else ""))))
    if len(found) > 1:
        return f", or the place of one of their lists by records (--records): {', '.join(found)[:200]}"
    return f", or their place by records (--records {found[0]})" if found else ""


def _places(value: Any, path: str) -> Iterator[str]:
    """Paths to lists of objects; of an object of things that are alike, as each task's are, one to all of them."""
    entries = value if isinstance(value, dict) else {"*": value[0]} if isinstance(value, list) and value else {}
    kinds = {_kind(each) for each in entries.values()}
    if isinstance(value, dict) and len(value) > 1 == len(kinds) and kinds != {()}:
        one = next(iter(value.values()))
        entries = {"*": one} if isinstance(one, dict) else {**value, "*": one}
    for name, each in entries.items():
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        is_plain = not any(isinstance(part, dict | list) for part in inner)
        is_list = isinstance(each, list) and all(isinstance(part, dict) for part in each)
        if inner and (is_list or (name == "*" and isinstance(value, dict) and is_plain)) and not tells_endings(name):
            yield path + name  # but rows are not chosen by how they ended
        yield from _places(each, f"{path}{name}.")


def _kind(value: Any) -> tuple[Any, ...]:
    """The names of an entry's fields, or of those in its list; equal for entries that are alike."""
    if isinstance(value, list):
        return (list, *_kind(value[0] if value else None))
    return (dict, *sorted(value)) if isinstance(value, dict) else ()
