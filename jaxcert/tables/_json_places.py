"""The fields of JSON: of the expected type, or an error with the place."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

_MOST_NAMED = 8
# What names a task.
LABEL = "label"
_KINDS: dict[Any, tuple[Any, str]] = {
    dict: (dict, "an object with fields"),
    list: (list, "a list"),
    str: (str, "a text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: ((int, float), "a finite number"),
    LABEL: ((int, str), "a whole number or a text"),
}


class Place(NamedTuple):
    """A value, and where it stands in a file, as in "trials[0] has no field 'score'"; the whole file has no name."""

    value: Any
    name: str = ""

    def field(self, name: str) -> "Place":
        """A field that has to be there."""
        fields = self.of(dict)
        if name not in fields:
            found = ", ".join(repr(other[:40]) for other in list(fields)[:_MOST_NAMED]) or "none"
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
            with contextlib.suppress(OverflowError):
                value = float(value)
            is_meant = isinstance(value, float) and math.isfinite(value)
        if not is_meant and not (kind is str and value == ""):
            shown = {dict: "an object", list: "a list", type(None): "empty"}.get(type(value), repr(value)[:40])
            shown = "a number of more than forty digits" if isinstance(value, int) and abs(value) > 10**40 else shown
            raise ValueError(f"{self._named} is {shown if value != '' else 'empty'}, expected {expected}")
        return value

    @property
    def _named(self) -> str:
        return self.name or "the file"


class Found(NamedTuple):
    """A value at a path, with what each ``*`` on the way stands for, a name or a number, and the entry there."""

    keys: tuple[Any, ...]
    around: tuple[Any, ...]
    place: Place
