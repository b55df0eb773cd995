"""The fields of JSON: of the expected type, or an error with the place."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

_MOST_NAMED = 8


class Place(NamedTuple):
    """A value, and where it stands in a file, as in "trials[0] has no field 'score'"; the whole file has no name."""

    value: Any
    name: str = ""

    def field(self, name: str) -> "Place":
        """A field that has to be there."""
        fields = self._of(dict, "an object with fields")
        if name not in fields:
            found = ", ".join(repr(other[:40]) for other in list(fields)[:_MOST_NAMED]) or "none"
            raise ValueError(f"{self._named} has no field {name!r}; found {found}")
        return Place(fields[name], f"{self.name}.{name[:40]}" if self.name else name[:40])

    def maybe(self, name: str) -> "Place | None":
        """A field that may be absent or null, which both are None."""
        return None if self._of(dict, "an object with fields").get(name) is None else self.field(name)

    def fields(self) -> dict[str, "Place"]:
        """The fields of an object, by their names."""
        return {name: self.field(name) for name in self._of(dict, "an object with fields")}

    def items(self) -> list["Place"]:
        """The entries of a list."""
        return [Place(each, f"{self.name}[{i}]") for i, each in enumerate(self._of(list, "a list"))]

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

    def text(self) -> str:
        """A text."""
        return self._of(str, "a text")

    def truth(self) -> bool:
        """True or false, and no number."""
        return self._of(bool, "true or false")

    def integer(self) -> int:
        """A whole number."""
        return self._of(int, "a whole number")

    def number(self) -> float:
        """A finite number, as float64."""
        try:
            found = float(self._of((int, float), "a finite number"))
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise self._other("a finite number")
        return found

    def label(self) -> int | str:
        """What names a task: a whole number or a text that is not empty."""
        if self.value == "":
            raise self._other("a whole number or a text")
        return self._of((int, str), "a whole number or a text")

    @property
    def _named(self) -> str:
        return self.name or "the file"

    def _of(self, kinds: Any, expected: str) -> Any:
        """The value, if it is of these kinds; true and false are no numbers."""
        if not isinstance(self.value, kinds) or (isinstance(self.value, bool) and kinds is not bool):
            raise self._other(expected)
        return self.value

    def _other(self, expected: str) -> ValueError:
        kinds = {dict: "an object", list: "a list", type(None): "empty"}
        shown = kinds.get(type(self.value)) or ("empty" if self.value == "" else "")
        if isinstance(self.value, int) and abs(self.value) > 10**40:
            shown = "a number of more than forty digits"
        return ValueError(f"{self._named} is {shown or repr(self.value)[:40]}, expected {expected}")


class Found(NamedTuple):
    """A value at a path, with what each ``*`` on the way stands for, a name or a number, and the entry there."""

    keys: tuple[Any, ...]
    around: tuple[Any, ...]
    place: Place
