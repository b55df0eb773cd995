"""A column stored by its distinct entries, so that each is interpreted once."""

import itertools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._entries import is_empty, number_of, shown

_MOST_TEXTS = 10
_FEW = 2**16  # entries of an array that takes no time


class Coded(NamedTuple):
    """The different entries of a column, and the place among them of each row's, int64 [rows]."""

    entries: np.ndarray
    places: np.ndarray

    def listed(self) -> list[Any]:
        """The different entries as objects of Python."""
        return self.entries.tolist()

    def each(self, of: Callable[[Any], Any]) -> np.ndarray:
        """The value of a function at each row's entry, numbers or bools [rows]."""
        return np.asarray([of(entry) for entry in self.listed()])[self.places]

    def numbers(self) -> np.ndarray:
        """Each distinct entry as a number; NaN if it is not a number."""
        if self.entries.dtype.kind in "biuf":
            return self.entries.astype(np.float64)
        return np.fromiter(map(number_of, self.listed()), np.float64, len(self.entries))

    @property
    def are_numbers(self) -> bool:
        """Whether all entries are finite numbers."""
        return bool(np.all(np.isfinite(self.numbers())))

    @property
    def are_whole(self) -> bool:
        """Whether all entries are whole numbers, as of tasks that may be numbered anew in each group of them."""
        return self.are_numbers and bool(np.all(self.numbers() % 1 == 0))

    def at(self, rows: np.ndarray) -> "Coded":
        """Some rows, by a mask or by their numbers, with the entries that they have, in the order of appearance."""
        kept = coded(self.places[rows])
        return Coded(self.entries[kept.entries], kept.places)

    def repeated(self, times: int) -> "Coded":
        """Each row so many times, one after another."""
        return self if times == 1 else Coded(self.entries, np.repeat(self.places, times))

    def check(self, wrong: Any, name: Any, expected: str | Callable[[Any], str]) -> None:
        """Raise ValueError that names the first row whose entry is ``wrong``; the first row, after a header, is 1."""
        if np.any(wrong):
            row = int(np.argmax(np.asarray(wrong)[self.places]))
            entry = self.listed()[self.places[row]]
            told = expected if isinstance(expected, str) else expected(entry)
            raise ValueError(f"row {row + 1}: {name} is {shown(entry)}, expected {told}")


def coded(column: np.ndarray) -> Coded:
    """The different entries of an array in the order of their first appearance; lists differ as they are printed."""
    if column.dtype != object:
        entries, first, places = np.unique(column, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return Coded(entries[order], np.argsort(order)[places.reshape(-1)])
    listed = column.tolist()
    try:
        places = _numbered(listed)
    except TypeError:
        places = _numbered([*map(repr, listed)])
    return Coded(as_objects(listed[row] for row in _first_rows(places).tolist()), places)


def _numbered(keys: list[Any]) -> np.ndarray:
    """The number of each key among the different ones, in the order of their first appearance."""
    seen: dict[Any, int] = {}
    return np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.int64, len(keys))


def of_series(series: Any) -> Coded:
    """A column of a frame of pandas, Polars or pyarrow; None for an entry that is empty."""
    if hasattr(series, "dictionary_encode") and (found := _by_arrow(series)):
        return found
    empty = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null(), bool)
    entries = np.full(empty.shape, None, object) if empty.all() else series.to_numpy()
    if empty.any():
        entries = entries.astype(object)
        entries[empty] = None
    return coded(entries)


def _by_arrow(column: Any) -> Coded | None:
    """A column of pyarrow, ten times as fast; None for lists and objects."""
    pa = import_extra("pyarrow", "io")
    if pa.types.is_null(column.type):
        return coded(np.full(len(column), None, object))
    try:
        found = column.cast(plain_type(column.type)).dictionary_encode().combine_chunks()
    except pa.ArrowNotImplementedError:
        return None
    types, entries, places = import_extra("pyarrow.types", "io"), found.dictionary, found.indices
    if types.is_string(entries.type) or types.is_boolean(entries.type):
        entries = np.asarray(entries.to_pylist(), object if types.is_string(entries.type) else bool)
    elif types.is_integer(entries.type) or types.is_floating(entries.type):
        entries = np.from_dlpack(entries)  # its own conversion imports pandas
    else:
        entries = entries.to_numpy(zero_copy_only=False)
    if found.null_count:
        entries, places = as_objects([*entries.tolist(), None]), places.fill_null(len(entries))
    return Coded(entries, np.from_dlpack(places).astype(np.int64))


def plain_type(kind: Any) -> Any:
    """The type of the entries of a column, which may be held as a dictionary, as categories are."""
    return kind.value_type if import_extra("pyarrow.types", "io").is_dictionary(kind) else kind


def check_labels_whole(column: Coded, name: Any) -> None:
    """Raise ValueError for a column of labels with an empty entry, or of lists or objects."""
    listed = column.listed()
    for wrong in (entry for entry in listed if not isinstance(entry, Hashable)):
        raise ValueError(f"column {name} holds {wrong!r:.40}, expected integers or text")
    column.check([is_empty(entry) or entry == "" for entry in listed], name, "an entry")


def few_texts(column: Coded) -> list[str]:
    """The different texts in a column, in their order, if they are few; else none."""
    texts = (each for each in column.listed() if isinstance(each, str)) if column.entries.dtype.kind in "OU" else ()
    found = [*itertools.islice(texts, _MOST_TEXTS + 1)]
    return found if len(found) <= _MOST_TEXTS else []


# --- several columns -----------------------------------------------------------------------------------------------


def combined(*columns: Coded) -> tuple[list[tuple[Any, ...]], np.ndarray]:
    """The different combinations of the entries of columns, and the place of each row's among them."""
    places = columns[0].places
    for other in columns[1:]:
        places = coded(places * len(other.entries) + other.places).places
    rows = _first_rows(places).tolist()
    listed = [[column.listed()[place] for place in column.places[rows].tolist()] for column in columns]
    return list(zip(*listed, strict=True)), places


def pair_counts(one: Coded, other: Coded) -> np.ndarray:
    """Counts of the pairs of entries that occur in two columns."""
    codes, most = one.places * len(other.entries) + other.places, len(one.entries) * len(other.entries)
    if most <= 8 * len(codes) + _FEW:
        counts = np.bincount(codes, minlength=0)
        return counts[counts > 0]
    return np.unique(codes, return_counts=True)[1]


def crossing(one: Coded, other: Coded) -> float:
    """How far entries are crossed: 0 if those of one column determine those of the other, 1 if all pairs occur."""
    least, most = sorted((len(one.entries), len(other.entries)))
    num_pairs = len(pair_counts(one, other))
    return (num_pairs - most) / ((least - 1) * most) if least > 1 else 0.0


def _first_rows(places: np.ndarray) -> np.ndarray:
    """The first row with each of the places 0, 1, ..., all of which occur."""
    first = np.zeros(places.max(initial=-1) + 1, np.int64)
    first[places[::-1]] = np.arange(len(places))[::-1]
    return first


def as_objects(entries: Iterable[Any]) -> np.ndarray:
    """An array of objects."""
    return np.fromiter(entries, object)
