"""The axes of an answer's arrays, its own and those of a batch: indexing, and tables with named axes."""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates._figures import STATUSES

if TYPE_CHECKING:
    import pandas

# Metadata of a field that is no array.
STATIC = {"static": True}

Index = int | slice | EllipsisType | tuple[Any, ...]


def along(*axes: str, column: str = "", optional: bool = False) -> dict[str, Any]:
    """Metadata of a field that has axes of its own, by the names of one element each; any before are of a batch.

    ``column`` is the name of one entry, by default of the field; one with the name of its axis labels it. An
    ``optional`` field may be one number without these axes, like a field without this metadata.
    """
    return {"axes": axes, "column": column, "optional": optional}


class Batched:
    """A dataclass of arrays that may have leading axes for a batch; its fields say which axes are their own."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    status: jax.Array

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The sizes of the leading axes: (seeds, checkpoints) of returns [seeds, checkpoints, n, m], () of [n, m]."""
        return np.broadcast_shapes(*(v.shape[: v.ndim - len(self._own(name))] for name, v in self._arrays().items()))

    def __getitem__(self, index: Index) -> Self:
        """A part, by an integer, a slice, or a tuple of these with at most one ``...``; the first axes first.

        The axes are those of the batch, if there is one, and then the thresholds (or shares), which remain an axis even
        under an integer index. So ``certificate[3]`` is the certificate at one threshold. For a batch it is the
        certificate of one seed, ``certificate[0, 7]`` that of a seed and a checkpoint, and ``certificate[..., 3]`` the
        whole batch at one threshold.

        Raises:
            IndexError: an integer out of range, or more entries than axes.
            TypeError: an entry of another type, or nothing to choose from.
        """
        sizes = self._sizes()
        given = list(index) if isinstance(index, tuple) else [index]
        at = next((place for place, entry in enumerate(given) if entry is Ellipsis), len(given))
        given[at : at + 1] = [slice(None)] * (len(sizes) - len(given) + (at < len(given)))
        if len(given) != len(sizes):
            shown = ", ".join(f"{size} along axis {axis}" for axis, size in sizes.items()) or "no axes"
            raise (IndexError if sizes else TypeError)(f"index is {index!r}; the certificate has {shown}")
        entries = zip(sizes, given, strict=True)
        return self._part({axis: _places(entry, axis, sizes[axis]) for axis, entry in entries})

    def _sizes(self) -> dict[int | str, int]:
        """The size of each axis that can be indexed: batch axes by their number, the last axis by its name."""
        rows = self._own("status")
        return {**dict(enumerate(self.batch_shape)), **dict(zip(rows, self.status.shape[-len(rows) :], strict=False))}

    def _own(self, name: str) -> tuple[str, ...]:
        """The names of a field's own axes in this answer."""
        metadata = self.__dataclass_fields__[name].metadata
        return () if metadata.get("optional") and not self._has_axes(name) else metadata.get("axes", ())

    def _has_axes(self, name: str) -> bool:
        """Whether a field that may have axes of its own has them in this answer, besides the batch axes."""
        return np.ndim(getattr(self, name)) > self.status.ndim - len(self._own("status"))

    def _arrays(self) -> dict[str, Any]:
        """The fields that hold an array here."""
        held = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in held.items() if isinstance(value, jax.Array | np.ndarray)}

    def _part(self, places: Mapping[int | str, Any]) -> Self:
        shape, parts = self.batch_shape, {}
        for name in (field.name for field in dataclasses.fields(self)):
            value = getattr(self, name)
            if isinstance(value, Batched):
                parts[name] = value._part(places)
            elif isinstance(value, jax.Array | np.ndarray):
                parts[name] = _taken(value, self._own(name), shape, places)
        return dataclasses.replace(self, **parts)


def check_single(certificate: Any) -> None:
    """Raise ValueError for a batch, and say how to pick one of its certificates."""
    shape = getattr(certificate, "batch_shape", ())
    if shape:
        index = ", ".join("0" for _ in shape)
        raise ValueError(
            f"certificate is a batch of {' × '.join(map(str, shape))}; expected a single one, such as "
            f"certificate[{index}]"
        )


def _taken(value: Any, own: Sequence[str], shape: Sequence[int], places: Mapping[int | str, Any]) -> Any:
    """Index the batch axes, unless the array is the same for all of the batch, and the last axis."""
    lead = value.shape[: value.ndim - len(own)]
    if lead and lead != tuple(shape):
        value = jnp.broadcast_to(value, (*shape, *value.shape[len(lead) :]))
    axes = {name: i - len(own) for i, name in enumerate(own)}
    axes |= {i: i for i in reversed(range(len(shape)))} if lead else {}  # the last first, as an integer drops its axis
    for name, axis in axes.items():
        if places.get(name) is not None:
            # Places as data: a slice would be compiled anew for each.
            value = jnp.take(value, places[name], axis=axis, mode="clip")
    return value


def _places(given: Any, axis: int | str, size: int) -> np.ndarray | np.int32 | None:
    """The places along an axis; None for all of them as they are. An integer keeps the axis of thresholds."""
    if isinstance(given, slice):
        return None if given == slice(None) else np.arange(size, dtype=np.int32)[given]
    place = operator.index(given)
    if not -size <= place < size:
        raise IndexError(f"index is {place}; the certificate has {size} along axis {axis}")
    found = np.int32(place % size)
    return found if isinstance(axis, int) else np.asarray([found])


# --- tables with named axes -----------------------------------------------------------------------------------------


def frame_of(certificate: Any) -> "pandas.DataFrame":
    """One row per element of the batch and threshold; see ``to_frame``."""
    pandas = import_extra("pandas", "io")
    fields = certificate.__dataclass_fields__
    first = next(iter(fields))
    rows = certificate._own(first)
    sizes = {f"axis_{i}": size for i, size in enumerate(certificate.batch_shape)}
    sizes |= dict(zip(rows, np.shape(getattr(certificate, first))[-len(rows) :], strict=False))
    shape = tuple(sizes.values())
    arrays, axes = certificate._arrays(), {name: field.metadata.get("axes") for name, field in fields.items()}
    columns_of = {name: fields[name].metadata.get("column") or name for name in arrays}
    places = zip(sizes, np.indices(shape), strict=True)
    # A column with the name of its axis labels it.
    labelled = {column for name, column in columns_of.items() if axes[name] == (column,)}
    columns: dict[str, Any] = {name: place.ravel() for name, place in places if name not in labelled}
    # The fields with one entry per row first, then the settings.
    each = [name for name in arrays if certificate._own(name) == rows and axes[name]]
    settings = [name for name in fields if _is_setting(fields[name]) and getattr(certificate, name) is not None]
    single = [name for name in fields if name in settings or (name in arrays and not certificate._own(name))]
    for name in dict.fromkeys([*each, *single]):
        values = certificate._written(name, getattr(certificate, name))
        if isinstance(values, np.ndarray):
            whole = values.reshape((*values.shape, *(1,) * (len(rows) - len(certificate._own(name)))))
            values = np.broadcast_to(whole, shape).ravel()
        elif isinstance(values, tuple) and not certificate._own(name):
            values = ", ".join(map(str, values))  # one setting
        columns[columns_of.get(name, name)] = values
    columns["status"] = pandas.Categorical.from_codes(columns["status"], STATUSES)
    return pandas.DataFrame(columns)


def _is_setting(field: Any) -> bool:
    """Whether it is static and one for all."""
    return bool(field.metadata.get("static")) and not field.metadata.get("axes")
