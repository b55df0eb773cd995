"""The values and fields of JSON, each of the expected type or an error with the place; and the records of a file."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jaxcert.tables._doubts import listed
from jaxcert.tables._entries import number_of
from jaxcert.tables._files import damage_told, parsed
from jaxcert.tables._names import tells

_MOST_FIELDS, _LONGEST = 40, 200  # of an object around records; of what is written in short
# What names a task.
LABEL = "label"
BY_RECORDS = "or the place of their list by records (--records): names with dots, and * for each entry"
_KINDS: dict[Any, tuple[Any, str]] = {
    dict: (dict, "an object with fields"),
    list: (list, "a list"),
    str: (str, "a text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: ((int, float), "a finite number"),
    LABEL: ((int, str), "a whole number or a text"),
}


def json_value(text: bytes, kind: str = "JSON") -> Any:
    """The value of JSON, in which no object has a name twice; damage in words."""
    with damage_told(kind):
        return parsed(text)


def objects_of_lines(content: bytes, most: int | None = None) -> list[dict[str, Any]]:
    """The object in each of the lines, or in so many."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n", -1 if most is None else most)
    found = [(line, json_value(line, "JSON Lines")) for line in lines[:most] if line.strip()]
    if wrong := next((line for line, value in found if not isinstance(value, dict)), None):
        raise ValueError(f"has the line {wrong[:40]!r}; expected an object in each line")
    return [value for _, value in found]


class Place(NamedTuple):
    """A value and its place in a file, for messages such as "trials[0] has no field 'score'"; the file has none."""

    value: Any
    name: str = ""

    def field(self, name: str) -> "Place":
        """A required field."""
        fields = self.of(dict)
        if name not in fields:
            found = listed(map(repr, fields), 8) or "none"
            raise ValueError(f"{self._named} has no field {name!r}; found {found}")
        return Place(fields[name], f"{self.name}.{name[:40]}" if self.name else name[:40])

    def maybe(self, name: str) -> "Place | None":
        """A field that may be absent or null, which both are None."""
        return None if self.of(dict).get(name) is None else self.field(name)

    def fields(self) -> dict[str, "Place"]:
        """The fields of an object, by their names."""
        return {name: self.field(name) for name in self.of(dict)}

    def items(self) -> list["Place"]:
        """The entries of a list."""
        return [Place(each, f"{self.name}[{i}]") for i, each in enumerate(self.of(list))]

    def find(self, path: str, *, all_there: bool = False) -> "Iterator[Found]":
        """Each value at a path of names with dots, where ``*`` is each entry of a list or an object.

        ``all_there``: ValueError where the path ends early; else there are no values there.
        """
        return self._found(path.split(".") if path else [], Found((), (), self), all_there)

    def _found(self, steps: list[str], so_far: "Found", all_there: bool) -> "Iterator[Found]":
        if not steps:
            yield so_far._replace(place=self)
        elif steps[0] == "*" and isinstance(self.value, dict | list):
            entries = self.fields() if isinstance(self.value, dict) else dict(enumerate(self.items()))
            for key, each in entries.items():
                inner = so_far._replace(keys=(*so_far.keys, key), around=(*so_far.around, each.value))
                yield from each._found(steps[1:], inner, all_there)
            if all_there and not entries:
                raise ValueError(f"{self._named} is empty; expected records")
        elif all_there or (isinstance(self.value, dict) and steps[0] in self.value):
            yield from self.field(steps[0])._found(steps[1:], so_far, all_there)

    def first(self, path: str) -> Any:
        """The first value at a path; None if there is none."""
        return next((found.place.value for found in self.find(path)), None)

    def of(self, kind: Any) -> Any:
        """The value, of this kind: true and false are no numbers, a float is finite, and a label is not empty."""
        types, expected = _KINDS[kind]
        value = self.value
        is_meant = isinstance(value, types) and (kind is bool or not isinstance(value, bool)) and value != ""
        if kind is float and is_meant:
            is_meant = math.isfinite(number := number_of(value))
            value = number if is_meant else value
        if not is_meant and not (kind is str and value == ""):
            shown = {dict: "an object", list: "a list", type(None): "empty"}.get(type(value), repr(value)[:40])
            shown = "a number of more than forty digits" if isinstance(value, int) and abs(value) > 10**40 else shown
            raise ValueError(f"{self._named} is {shown if value != '' else 'empty'}, expected {expected}")
        return value

    @property
    def _named(self) -> str:
        return self.name or "the file"


class Found(NamedTuple):
    """A value at a path, with the name or number that each ``*`` on the way stands for, and the entry there."""

    keys: tuple[Any, ...]
    around: tuple[Any, ...]
    place: Place


# --- records: in a list, in lists or objects of named things, or as columns -----------------------------------------


def records_in(value: Any, path: str) -> tuple[list[dict[str, Any]], set[str]]:
    """The records at a path of names with dots, where ``*`` is each entry; and their fields that stand around them."""
    lists = Place(value).find(path, all_there=True)
    found = [each._replace(place=record) for each in lists for record in _at(each, path)]
    return with_fields_around(found, path, value)


def with_fields_around(found: Sequence[Found], path: str, whole: Any) -> tuple[list[dict[str, Any]], set[str]]:
    """The records of a file with the fields of the entries around them; and the names of these.

    The field $1 holds the name or number that the first ``*`` stands for. Where a name occurs at several depths, the
    record's own field keeps it, and the others are $1.name, or $0.name of the file itself; as those are called that are
    named after outcomes, which may sum up those of the records.
    """
    steps = path.split(".") if path else []
    stars = [number for number, step in enumerate(steps) if step == "*"]
    rows = [each.place.value if isinstance(each.place.value, dict) else {"outcome": each.place.value} for each in found]
    of_file = _around(whole, steps)
    levels = [[of_file] * len(rows)]
    for at, star in enumerate(stars):
        known = {id(each.around[at]): each.around[at] for each in found}
        fields = {key: _around(entry, steps[star + 1 :]) for key, entry in known.items()}
        levels.append([{f"${at + 1}": each.keys[at]} | fields[id(each.around[at])] for each in found])
    times = Counter(name for level in [*levels, rows] for name in {name for fields in level for name in fields})
    outer: list[dict[str, Any]] = [{} for _ in rows]
    for at, level in enumerate(levels):
        for around, fields in zip(outer, level, strict=True):
            around |= {
                name if times[name] == 1 and not tells(name).value else f"${at}.{name}": entry
                for name, entry in fields.items()
            }
    return [around | row for around, row in zip(outer, rows, strict=True)], {name for each in outer for name in each}


def _around(entry: Any, steps: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """The fields of an entry beside the ``steps`` on the way to the records in it; those of its objects with dots."""
    found: dict[str, Any] = {}
    for name, each in entry.items() if isinstance(entry, dict) and steps[:1] not in ([], ["*"]) else ():
        if name == steps[0]:
            found |= _around(each, steps[1:], f"{prefix}{name}.")
        elif isinstance(each, dict) and len(each) <= _MOST_FIELDS:
            found |= _around(each, [""], f"{prefix}{name}.")
        elif each is not None:
            found[f"{prefix}{name}"] = each if isinstance(each, int | float) else _in_short(each)
    return found


def _in_short(entry: Any) -> str:
    """A text of bounded length, which differs for other entries."""
    text = entry if isinstance(entry, str) else json.dumps(entry)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... (SHA-256 {digest[:16]})"


def _at(found: Found, path: str) -> list[Place]:
    """The records of a list, of an object of columns, or the one record itself."""
    value, is_inner = found.place.value, bool(found.keys)
    records = value if isinstance(value, list) else _of_columns(value) or ([value] if is_inner else None)
    if records is None or not (is_inner or all(isinstance(record, dict) for record in records)):
        raise ValueError(_not_records(value))
    if is_inner and not records:
        raise ValueError(f"has no record of {found.keys[-1]!r:.60} at {path}; expected some")
    return [Place(record) for record in records]


def _of_columns(value: Any) -> list[dict[str, Any]]:
    """The rows of an object of columns: of lists of one length, or of objects with the same rows by number."""
    columns = list(value.values()) if isinstance(value, dict) else []
    if columns and all(isinstance(each, dict) and {*each} == {*columns[0]} for each in columns):
        numbers = columns[0] if all(map(str.isdecimal, columns[0])) else ()
        columns = [[each[number] for number in numbers] for each in columns]
    are_lists = all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns)
    if not are_lists or any(isinstance(entry, dict | list) for each in columns for entry in each):
        return []
    return [dict(zip(value, entries, strict=True)) for entries in zip(*columns, strict=True)]


def _not_records(value: Any) -> str:
    if isinstance(value, dict) and value and not any(isinstance(each, dict | list) for each in value.values()):
        return (
            "holds one object; expected all trials in one file, if each has a file of its own: an object in each line "
            "(.jsonl)"
        )
    held = f", but of {listed(map(repr, value))}" if isinstance(value, dict) else ""
    return f"is of no known tool and no array of objects{held}; expected one object per trial, {BY_RECORDS}"
