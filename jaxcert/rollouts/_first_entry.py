"""The first entry of a log: fields of a NamedTuple, each of its annotated type."""

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import UnionType
from typing import Any, get_args, get_type_hints

_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


def declared_in(entry: Mapping[str, Any] | None, kinds: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> Any:
    """The declaration in the first entry of a log, by its format read as one kind; ValueError for anything else."""
    if entry is None:
        raise ValueError("holds no complete line; expected what was declared as the first one")
    if entry.get("format") not in [*kinds]:
        raise ValueError(f"its format is {entry.get('format')!r:.40}; expected {' or '.join(map(repr, kinds))}")
    return kinds[entry["format"]](entry)


def fields_of(entry: Mapping[str, Any], kind: type, names: Iterable[str], place: str = "") -> dict[str, Any]:
    """The fields of these names, lists as tuples; ValueError for one of another type than the kind is annotated with.

    ``place``: of the fields, in messages.
    """
    hints = get_type_hints(kind)
    return {name: typed(f"{name} {place}".strip(), entry.get(name), hints[name]) for name in names}


def typed(name: str, value: Any, hint: Any) -> Any:
    """The value in an annotated type, a list as a tuple; ValueError by name for one of another type."""
    try:
        return _taken(value, hint)
    except (TypeError, OverflowError):
        raise ValueError(f"{name} is {value!r:.60}; expected {_in_words(hint)}") from None


def _taken(value: Any, hint: Any) -> Any:
    """The value in this type; TypeError for one of another type, OverflowError for a number that no float is."""
    if isinstance(hint, UnionType):
        return None if value is None else _taken(value, get_args(hint)[0])
    if one := get_args(hint):
        if not isinstance(value, list | tuple) or not value or (one[-1] is not ... and len(value) != len(one)):
            raise TypeError
        if one == (float, float) and value[1] is None:  # JSON has no infinite number
            value = [value[0], math.inf]
        return tuple(_taken(each, one[0]) for each in value)
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    if hint is float and number is not None and number == value:  # one that rounding makes another number is none
        return number
    if hint is float or type(value) is not hint:
        raise TypeError
    return value


def _in_words(hint: Any) -> str:
    if isinstance(hint, UnionType):
        return f"{_in_words(get_args(hint)[0])}, or null"
    if one := get_args(hint):
        number = "" if one[-1] is ... else f"{len(one)} "
        return f"a list of {number}{_WORDS[one[0]].removeprefix('a ')}s"
    return _WORDS[hint]
