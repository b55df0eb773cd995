"""The axes of an answer's arrays, its own and those of a batch, and indices into them."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

# Metadata of a field that is no array.
STATIC = {"static": True}


def along(*axes: str, column: str = "", optional: bool = False) -> dict[str, Any]:
    """Metadata of a field that has axes of its own, by the names of one element each; any before are of a batch.

    ``column`` is the name of one entry, by default of the field; one with the name of its axis labels it. An
    ``optional`` field may be one number without these axes, like a field without this metadata.
    """
    return {"axes": axes, "column": column, "optional": optional}


def check_single(certificate: Any) -> None:
    """Raise ValueError for a batch, and say how to pick one of its certificates."""
    shape = getattr(certificate, "batch_shape", ())
    if shape:
        index = ", ".join("0" for _ in shape)
        raise ValueError(
            f"certificate is a batch of {' × '.join(map(str, shape))}; expected a single one, such as "
            f"certificate[{index}]"
        )


def taken(value: Any, own: Sequence[str], shape: Sequence[int], places: Mapping[int | str, Any]) -> Any:
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


def places_of(given: Any, axis: int | str, size: int) -> np.ndarray | np.int32 | None:
    """The places along an axis; None for all of them as they are. An integer keeps the axis of thresholds."""
    if isinstance(given, slice):
        return None if given == slice(None) else np.arange(size, dtype=np.int32)[given]
    place = operator.index(given)
    if not -size <= place < size:
        raise IndexError(f"index is {place}; the certificate has {size} along axis {axis}")
    found = np.int32(place % size)
    return found if isinstance(axis, int) else np.asarray([found])
