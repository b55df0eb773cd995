"""The fields of JSON that another tool wrote: of the expected type, or an error that names the place."""

import dataclasses
import math
from typing import Any

_MOST_NAMED = 8


@dataclasses.dataclass(frozen=True)
class Place:
    """A value, and where it stands in a file; the whole file has no name.

    Example:
        >>> trial = Place({"trials": [{"reward": 1.0}]}).field("trials").items()[0]
        >>> trial.field("reward").number()
        1.0
        >>> trial.field("score")
        Traceback (most recent call last):
            ...
        ValueError: trials[0] has no field 'score'; found 'reward'
    """

    value: Any
    name: str = ""

    def field(self, name: str) -> "Place":
        """A field that has to be there."""
        fields = self.fields()
        if name not in fields:
            found = ", ".join(repr(other[:40]) for other in list(fields)[:_MOST_NAMED]) or "none"
            raise ValueError(f"{self._named} has no field {name!r}; found {found}")
        return fields[name]

    def maybe(self, name: str) -> "Place | None":
        """A field that may be absent or null, which both are None."""
        found = self.fields().get(name)
        return None if found is None or found.value is None else found

    def fields(self) -> dict[str, "Place"]:
        """The fields of an object, by their names."""
        value = self._of(dict, "an object with fields")
        return {
            name: Place(each, f"{self.name}.{name[:40]}" if self.name else name[:40]) for name, each in value.items()
        }

    def items(self) -> list["Place"]:
        """The entries of a list."""
        return [Place(each, f"{self.name}[{i}]") for i, each in enumerate(self._of(list, "a list"))]

    def text(self) -> str:
        """A text."""
        return self._of(str, "a text")

    def truth(self) -> bool:
        """True or false, and no number."""
        return self._of(bool, "true or false")

    def integer(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise ValueError(f"{self._named} is {self._shown}, expected a whole number")
        return self.value

    def number(self) -> float:
        """A finite number, as float64."""
        try:
            found = math.nan if isinstance(self.value, bool) else float(self._of((int, float), "a finite number"))
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise ValueError(f"{self._named} is {self._shown}, expected a finite number")
        return found

    def label(self) -> int | str:
        """What names a task: a whole number or a text that is not empty."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | str) or self.value == "":
            raise ValueError(f"{self._named} is {self._shown}, expected a whole number or a text")
        return self.value

    @property
    def _named(self) -> str:
        return self.name or "the file"

    @property
    def _shown(self) -> str:
        if isinstance(self.value, dict | list):
            return "an object" if isinstance(self.value, dict) else "a list"
        if self.value is None or self.value == "":
            return "empty"
        if isinstance(self.value, int) and abs(self.value) > 10**40:
            return "a number of more than forty digits"
        return repr(self.value)[:40]

    def _of(self, kinds: Any, expected: str) -> Any:
        if not isinstance(self.value, kinds):
            raise ValueError(f"{self._named} is {self._shown}, expected {expected}")
        return self.value
