"""From the arrays of a program to an answer: padding is cut off by the names of their axes."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np

from jaxcert.returns._sample import Sample, padded_to, placed, power_of_two

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
    cut = {name: _index(value, axes[name], sizes) for name, value in fields.items()}
    longer = {name: fields[name] for name, index in cut.items() if index is not None}
    shorter = {name: value[cut[name]] for name, value in jax.device_get(longer).items()}
    return kind(**placed({**fields, **shorter}), **settings)


def _index(value: Any, axes: tuple[str, ...], sizes: Mapping[str, int]) -> tuple[Any, ...] | None:
    """What is to be kept of an array; None for all of it."""
    own = dict(zip(reversed(axes), reversed(np.shape(value)), strict=False))
    kept = {name: slice(sizes[name]) if sizes.get(name, size) < size else slice(None) for name, size in own.items()}
    return (..., *reversed(kept.values())) if any(each != slice(None) for each in kept.values()) else None
