"""The axes of an answer's arrays: which are its own, which are of a batch, its parts by index, and its padding."""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, ClassVar, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.returns._sample import Sample, padded_to, placed, power_of_two

Index = int | slice | EllipsisType | tuple[Any, ...]


def along(*axes: str, column: str = "", optional: bool = False) -> dict[str, Any]:
    """Metadata of a field that has axes of its own, the last ones; those before them are axes of a batch.

    A field without this metadata has none: it is one number, or one for each element of a batch.

    Args:
        axes: their names, of one element each: "threshold".
        column: the name of one entry; of the field by default. A field whose column has the name of its axis labels it.
        optional: whether the field may be one number in place of these axes.
    """
    return {"axes": axes, "column": column, "optional": optional}


class Batched:
    """A dataclass of arrays that may have leading axes for a batch; its fields say which axes are their own."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    status: jax.Array

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The sizes of the leading axes: (seeds, checkpoints) of returns [seeds, checkpoints, n, m], () of [n, m]."""
        return np.broadcast_shapes(*(_lead(value, self._own(name)) for name, value in self._arrays().items()))

    def __getitem__(self, index: Index) -> Self:
        """A part, by an integer, a slice, or a tuple of these with at most one ``...``; the first axes first.

        The axes are those of the batch, if there is one, and then the thresholds (or shares), which stay an axis under
        an integer, too. So ``certificate[3]`` is the certificate at one threshold; of a batch it is that of one seed,
        ``certificate[0, 7]`` that of a seed and a checkpoint, and ``certificate[..., 3]`` all of them at one threshold.

        Raises:
            IndexError: an integer out of range, or more entries than axes.
            TypeError: an entry of another type, or nothing to choose from.
        """
        sizes = self._sizes()
        return self._part(
            [_entry(given, axis, sizes) for axis, given in zip(sizes, _spread(index, sizes), strict=True)]
        )

    def _sizes(self) -> dict[int | str, int]:
        """The size of each axis that can be indexed: those of the batch by their number, the last by its name."""
        rows = self._own("status")
        return {**dict(enumerate(self.batch_shape)), **dict(zip(rows, self.status.shape[-len(rows) :], strict=False))}

    def _own(self, name: str) -> tuple[str, ...]:
        """The names of a field's own axes, as it has them here."""
        metadata = self.__dataclass_fields__[name].metadata
        return () if metadata.get("optional") and not self._has_axes(name) else metadata.get("axes", ())

    def _has_axes(self, name: str) -> bool:
        """Whether a field that may have axes of its own has them here, beside those of the batch."""
        return np.ndim(getattr(self, name)) > self.status.ndim - len(self._own("status"))

    def _arrays(self) -> dict[str, Any]:
        """The fields that hold an array here."""
        held = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in held.items() if isinstance(value, jax.Array | np.ndarray)}

    def _part(self, entries: Sequence[Any]) -> Self:
        rows, shape = self._own("status"), self.batch_shape
        places = dict(zip((*range(len(shape)), *rows), entries, strict=True))
        arrays = self._arrays().items()
        parts = {name: _taken(value, self._own(name), shape, places) for name, value in arrays}
        held = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        within = {name: value._part(entries) for name, value in held.items() if isinstance(value, Batched)}
        return dataclasses.replace(self, **parts, **within)


def check_single(certificate: Any) -> None:
    """Raise ValueError for a batch, with the way to one of its certificates."""
    shape = getattr(certificate, "batch_shape", ())
    if shape:
        index = ", ".join("0" for _ in shape)
        raise ValueError(
            f"certificate is a batch of {' × '.join(map(str, shape))}; expected a single one, such as "
            f"certificate[{index}]"
        )


def same_for_all(values: Any, own: Sequence[str]) -> np.ndarray | None:
    """What all elements of a batch share, by the field's own axes alone; None if they differ."""
    held = np.asarray(values)
    rows = held.reshape(-1, *held.shape[held.ndim - len(own) :])
    return rows[0] if len(rows) and all(np.array_equal(row, rows[0], equal_nan=True) for row in rows) else None


def _lead(value: Any, own: Sequence[str]) -> tuple[int, ...]:
    return value.shape[: value.ndim - len(own)]


def _taken(value: Any, own: Sequence[str], shape: Sequence[int], places: Mapping[int | str, Any]) -> Any:
    """An array at places along the axes of the batch, unless it is the same for all, and along the last one."""
    lead = _lead(value, own)
    if lead and lead != tuple(shape):
        value = jnp.broadcast_to(value, (*shape, *value.shape[len(lead) :]))
    axes = {name: i - len(own) for i, name in enumerate(own)}
    axes |= {i: i for i in reversed(range(len(shape)))} if lead else {}  # the last first, as an integer drops its axis
    for name, axis in axes.items():
        if places.get(name) is not None:
            # Places as data: a slice would be compiled anew for each.
            value = jnp.take(value, places[name], axis=axis, mode="clip")
    return value


def _spread(index: Index, sizes: Mapping[int | str, int]) -> list[Any]:
    """One entry for each axis; those that are not given, or that ``...`` stands for, are whole."""
    given = list(index) if isinstance(index, tuple) else [index]
    dots = [place for place, entry in enumerate(given) if entry is Ellipsis]
    count, at = len(given) - len(dots), dots[0] if dots else len(given)
    if len(dots) > 1:
        raise IndexError(f"index is {index!r}; expected ... at most once")
    if count > len(sizes):
        if not sizes:
            raise TypeError(f"index is {index!r}; the certificate is a single one, without axes")
        axes = ", ".join(_described(axis, size) for axis, size in sizes.items())
        raise IndexError(f"index has {count} entries; the certificate has {axes}")
    return [*given[:at], *[slice(None)] * (len(sizes) - count), *given[at + 1 :]]


def _entry(given: Any, axis: int | str, sizes: Mapping[int | str, int]) -> np.ndarray | np.int32 | None:
    """The places along an axis; None for all of them as they are. An integer keeps the axis of thresholds."""
    size = sizes[axis]
    if isinstance(given, slice):
        return None if given == slice(None) else np.arange(size, dtype=np.int32)[given]
    try:
        if isinstance(given, bool | np.bool_):
            raise TypeError
        place = operator.index(given)
    except TypeError as error:
        at = "" if isinstance(axis, int) or axis != "threshold" else " (a threshold: at)"
        raise TypeError(f"index is {given!r}; expected an integer or a slice{at}") from error
    if not -size <= place < size:
        raise IndexError(f"index is {place}; the certificate has {_described(axis, size)}")
    found = np.int32(place % size)
    return found if isinstance(axis, int) else np.asarray([found])


def _described(axis: int | str, size: int) -> str:
    return f"{size} along axis {axis} of the batch" if isinstance(axis, int) else f"{size} {axis}s"


# --- padding ------------------------------------------------------------------------------------------------------

Answer = TypeVar("Answer")

_FEWEST_ROWS = 16


def padded_rows(row: Any, sample: Sample, fewest: int = _FEWEST_ROWS) -> Any:
    """Known numbers [t] that were fixed beforehand, in front of repetitions of the last, where the sample is padded."""
    if not (sample.padded and isinstance(row, np.ndarray)):
        return row
    return padded_to(row, (power_of_two(len(row), fewest),), row[-1])


def answer(kind: type[Answer], fields: Mapping[str, Any], sizes: Mapping[str, int], **settings: Any) -> Answer:
    """An answer of some kind.

    Args:
        kind: a dataclass whose fields name their axes.
        fields: its arrays, along some axes longer than they should be.
        sizes: the true sizes of axes, by their names.
        settings: its other fields.
    """
    axes = {field.name: field.metadata.get("axes", ()) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    cut = {name: _kept(value, axes[name], sizes) for name, value in fields.items()}
    longer = {name: fields[name] for name, index in cut.items() if index is not None}
    shorter = {name: value[cut[name]] for name, value in jax.device_get(longer).items()}
    return kind(**placed({**fields, **shorter}), **settings)


def _kept(value: Any, axes: tuple[str, ...], sizes: Mapping[str, int]) -> tuple[Any, ...] | None:
    """What is to be kept of an array; None for all of it."""
    own = dict(zip(reversed(axes), reversed(np.shape(value)), strict=False))
    kept = {name: slice(sizes[name]) if sizes.get(name, size) < size else slice(None) for name, size in own.items()}
    return (..., *reversed(kept.values())) if any(each != slice(None) for each in kept.values()) else None
