"""Common parts of all answers: parts of them by an index, plain values and tables, and sentences."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import is_concrete, kind_of
from jaxcert.certificates._batch_axes import places_of, taken
from jaxcert.certificates._figures import (
    LISTED,
    SAMPLED,
    STATUSES,
    Status,
    ceil_figures,
    confidence,
    floor_figures,
)

if TYPE_CHECKING:
    import pandas

Index = int | slice | EllipsisType | tuple[Any, ...]
# If there are more rows than the limit, only this many of the first and the last are printed.
_ENDS, _MOST = 5, 20


class Answer:
    """A certificate: a dataclass of arrays, which may have leading axes for a batch.

    It is printed as a sentence for each row, or by its kind where it is a batch or has no values. A kind of answer
    tells a row by its place in words (``_told``), names its ``question``, and says which axes a field has of its own
    (``along``). It may state ``not_about``.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    status: jax.Array
    delta: Any
    question: Any = ""
    metrics: Any = ()  # of which it is, by name, once for each requirement

    # The decimal that a number of an array stands for, on its safe side; as a certificate is printed.
    _decimals: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "thresholds": lambda value: floor_figures(float(value)),
        "shares": lambda value: ceil_figures(float(value)),
        "delta": lambda value: ceil_figures(float(value)),
        "beta": lambda value: f"{value:.6g}",
        "betas": lambda value: f"{value:.6g}",
    }

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
        return self._part({axis: places_of(entry, axis, sizes[axis]) for axis, entry in entries})

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
            if isinstance(value, Answer):
                parts[name] = value._part(places)
            elif isinstance(value, jax.Array | np.ndarray):
                parts[name] = taken(value, self._own(name), shape, places)
        return dataclasses.replace(self, **parts)

    def to_dict(self) -> dict[str, Any]:
        """The fields that it has as numbers, strings and lists.

        In single precision, thresholds, beta and delta are the decimals they stand for, as they are printed: 0.05, not
        0.05000000074505806. Everything else is the number that is held, and status the name.
        """
        _check_values(self)
        held = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: self._plain(name, value) for name, value in held.items() if value is not None}

    def to_json(self, *, indent: int | None = None) -> str:
        """``to_dict`` as strict JSON, in which null stands for a number that is not finite.

        A document that a third party can check is written by ``jaxcert.report.write_certificates``.
        """
        return json.dumps(plain(self.to_dict()), allow_nan=False, ensure_ascii=False, indent=indent)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per threshold (or share), of each element of a batch, with the settings in each row.

        It needs the extra "io". Thresholds, beta and delta are written as in ``to_dict``; status is a category. It
        leaves out arrays with other axes, such as the lower bounds of the tasks. The axes of a batch are axis_0,
        axis_1, ...

        Raises:
            ValueError: the certificate has no values.

        Example:
            >>> import numpy as np
            >>> from jaxcert import certify_lower_bounds
            >>> lower_bounds = np.linspace(0, 1, 120).reshape(2, 3, 20)  # of 2 seeds, 3 checkpoints and 20 tasks
            >>> found = certify_lower_bounds(lower_bounds, [0.2, 0.5], delta=0.1, beta=0.05)
            >>> frame = found.to_frame().rename(columns={"axis_0": "seed", "axis_1": "checkpoint"})
            >>> len(frame), list(frame.columns[:4])
            (12, ['seed', 'checkpoint', 'threshold', 'safety'])
            >>> frame.checkpoint.tolist()
            [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]
        """
        _check_values(self)
        pandas = import_extra("pandas", "io")
        fields = self.__dataclass_fields__
        first, own = next(iter(fields)), {name: self._own(name) for name in fields}
        rows = own[first]
        sizes = {f"axis_{i}": size for i, size in enumerate(self.batch_shape)}
        sizes |= dict(zip(rows, np.shape(getattr(self, first))[-len(rows) :], strict=False))
        shape = tuple(sizes.values())
        # A field with the name of its axis takes the place of the numbers along it.
        columns: dict[str, Any] = dict(zip(sizes, map(np.ravel, np.indices(shape)), strict=True))
        # The fields with one entry per row first, then the settings.
        for name in sorted(fields, key=lambda name: own[name] != rows):
            values = self._written(name, getattr(self, name))
            if values is None or isinstance(values, Answer) or own[name] not in ((), rows):
                continue
            if isinstance(values, np.ndarray):
                whole = values.reshape((*values.shape, *(1,) * (len(rows) - len(own[name]))))
                values = np.broadcast_to(whole, shape).ravel()
            elif isinstance(values, tuple):
                values = ", ".join(map(str, values))  # one setting
            columns[fields[name].metadata.get("column") or name] = values
        columns["status"] = pandas.Categorical.from_codes(columns["status"], STATUSES)
        return pandas.DataFrame(columns)

    def _plain(self, name: str, value: Any) -> Any:
        if not isinstance(value, jax.Array | np.ndarray):
            return value.to_dict() if isinstance(value, Answer) else value
        return (np.asarray(STATUSES)[np.asarray(value)] if name == "status" else self._written(name, value)).tolist()

    def _written(self, name: str, value: Any) -> Any:
        """The values of an array, as decimals for settings in single precision; anything else unchanged."""
        if not isinstance(value, jax.Array | np.ndarray):
            return value
        values = np.asarray(value)
        if name not in self._decimals or values.dtype != np.float32:
            return values
        decimals = [float(self._decimal(name, entry)) for entry in values.ravel()]
        return np.asarray(decimals, np.float64).reshape(values.shape)

    def _decimal(self, name: str, value: Any) -> str:
        """The decimal that one number of an array stands for."""
        return self._decimals[name](value)

    def __repr__(self) -> str:
        is_single = holds_values(self) and self.status.ndim == len(self._own("status"))
        return "\n".join(self._lines()) if is_single else f"{kind_of(self)}, of shape {self.status.shape}"

    def _lines(self) -> list[str]:
        """A sentence for each row, or for the first and the last of many."""
        count = max(self.status.size, 1)
        if count <= _MOST:
            return [*map(self._sentence, range(count))]
        first, last = range(_ENDS), range(count - _ENDS, count)
        return [*map(self._sentence, first), f"... {count - 2 * _ENDS} more ...", *map(self._sentence, last)]

    @property
    def not_about(self) -> str:
        """The topics that it does not cover, in words."""
        return not_about(listed=getattr(self, "source", SAMPLED) == LISTED)

    def _told(self, index: int) -> str:
        """A row in words, without how sure it is."""
        raise NotImplementedError

    def _sentence(self, index: int) -> str:
        return f"{self._start}: {self._told(index)}"

    @property
    def _start(self) -> str:
        """How sure it is, as a sentence begins."""
        together = " for all together" if getattr(self, "simultaneous", False) else ""
        sampled = getattr(self, "sampled", None)
        history = getattr(self if sampled is None else sampled, "history", None)
        moments = "" if history is None else ", at every moment of the sampling of tasks"
        return f"With confidence {confidence(float(self.delta))}{together}{moments}"

    def _held(self, index: int, *names: str) -> list[Any]:
        """The numbers of a row, by the names of their fields."""
        return [np.ravel(getattr(self, name))[index].item() for name in names]

    def _note(self, index: int, *noted: Status) -> str:
        """Advice on the status of a row; by default only on invalid input."""
        (code,) = self._held(index, "status")
        return f" ({Status(code).advice})" if code in (noted or (Status.INVALID_INPUT,)) else ""


class ByThreshold(Answer):
    """A certificate at each of several thresholds, or shares, which its first field holds."""

    def __len__(self) -> int:
        """The size of the first axis: of the thresholds, or of a batch."""
        return next(iter(self._sizes().values()))

    def at(self, threshold: float) -> Self:
        """The certificate at a threshold, which must be a certified one, as a number of their type.

        Raises:
            ValueError: it is none of them, or a batch has different ones.
        """
        _check_values(self)
        given, name = np.asarray(threshold)[()], next(iter(self.__dataclass_fields__))
        held = np.asarray(getattr(self, name))
        for number in (float(given), float(str(given))):  # in single precision it may stand for the decimal
            away = np.abs(held - number).reshape(-1, held.shape[-1]).max(axis=0)
            # NaN, as a number or among the thresholds, is near to none.
            if np.isfinite(number) and (away <= np.finfo(held.dtype).eps * abs(number)).any():
                return self[..., int(np.nanargmin(away))]
        raise ValueError(f"{given} is none of the {held.size} {name}; expected one of them, the same for all")


def not_about(*, listed: bool) -> str:
    """The topics that answers about a list, or about new tasks, do not cover."""
    return "tasks that are not in the list, or a single episode" if listed else "a single task or episode"


def holds_values(certificate: Any) -> bool:
    """Whether all of its leaves are arrays that can be read."""
    leaves: list[Any] = jax.tree.leaves(certificate)
    return all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves) and is_concrete(leaves)


def _check_values(certificate: Any) -> None:
    if not holds_values(certificate):
        raise ValueError("the certificate has no values here; expected it outside of jit and vmap")


def plain(value: Any) -> Any:
    """The value with None for each number in it that is not finite."""
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
