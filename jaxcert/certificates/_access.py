"""Certificates threshold by threshold, as tables, and as plain values."""

import dataclasses
import itertools
import json
import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import is_concrete
from jaxcert.certificates._figures import Status, ceil_figures, floor_figures
from jaxcert.numerics._rounding import cast_host

if TYPE_CHECKING:
    import pandas

_ENDS = 5
_MOST = 20
_SINGULAR = {"thresholds": "threshold", "shares": "share", "quantiles": "quantile"}


class Plain:
    """A dataclass of a certificate as plain values."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    # The decimal that a number in single precision stands for, on its safe side; as a certificate is printed.
    _decimals: ClassVar[Mapping[str, Callable[[float], str]]] = {
        "thresholds": floor_figures,
        "shares": ceil_figures,
        "delta": ceil_figures,
        "beta": lambda value: f"{value:.6g}",
    }

    def to_dict(self) -> dict[str, Any]:
        """The fields as numbers, strings and lists.

        In single precision, thresholds, beta and delta are the decimals they stand for, as they are printed: 0.05, not
        0.05000000074505806. Everything else is the number that is held, and status the name.
        """
        _check_values(self)
        return {field.name: self._plain(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)}

    def to_json(self, *, indent: int | None = None) -> str:
        """``to_dict`` as strict JSON, in which null stands for a number that is not finite.

        A document that a third party can check is written by ``jaxcert.report.write_certificates``.
        """
        return json.dumps(_finite(self.to_dict()), allow_nan=False, ensure_ascii=False, indent=indent)

    def _plain(self, name: str, value: Any) -> Any:
        if not isinstance(value, jax.Array | np.ndarray):
            return value
        return _names(np.asarray(value).tolist()) if name == "status" else self._written(name, value).tolist()

    def _written(self, name: str, value: Any) -> Any:
        """The values, as decimals if they are such settings in single precision; what is no array as it is."""
        if not isinstance(value, jax.Array | np.ndarray):
            return value
        values = np.asarray(value)
        if name not in self._decimals or values.dtype != np.float32:
            return values
        decimals = [float(self._decimals[name](float(entry))) for entry in values.ravel()]
        return np.asarray(decimals, np.float64).reshape(values.shape)


# Metadata of a field whose last axis runs over the thresholds.
BY_THRESHOLD = {"by_threshold": True}


class ByThreshold(Plain):
    """A certificate at each of several thresholds."""

    @classmethod
    def _per_threshold(cls) -> tuple[str, ...]:
        """Names of the fields whose last axis runs over the thresholds, which come first."""
        return tuple(name for name, field in cls.__dataclass_fields__.items() if field.metadata.get("by_threshold"))

    def __len__(self) -> int:
        return self._along.shape[-1]

    def __getitem__(self, index: int | slice) -> Self:
        """The certificate at one threshold, or at some of them, whose number may be 1 but whose axis stays."""
        if not isinstance(index, slice):
            index = self._one(index)
        names = [*self._per_threshold(), *(["beta"] if self._beta_by_threshold else [])]
        # Places as data: a slice would be compiled anew for each.
        places = np.arange(len(self), dtype=np.int32)[index]
        parts: dict[str, Any] = {name: jnp.take(getattr(self, name), places, axis=-1, mode="clip") for name in names}
        return dataclasses.replace(self, **parts)

    def at(self, threshold: float) -> Self:
        """The certificate at a threshold, which must be one of those certified, as a number of their type.

        Raises:
            ValueError: it is none of them; the message names those that are near.
        """
        _check_values(self)
        held = np.asarray(self._along)
        if held.ndim != 1 or np.ndim(threshold):
            raise ValueError(f"threshold {threshold!r} for thresholds {held.shape}; expected a number, and [t]")
        # As given, or the decimal that a number in single precision stands for.
        wanted = [np.asarray(threshold).astype(np.float64), np.asarray(float(str(threshold)))]
        # Thresholds are rounded up, shares down; arrays in single precision have been rounded to nearest before.
        for number, side in itertools.product(wanted, ("up", "nearest", "down")):
            found = np.flatnonzero(held == cast_host(number, held.dtype, side))
            if found.size:
                return self[int(found[0])]
        near = held[np.sort(np.argsort(np.abs(held - wanted[0]))[:3])]
        name = self._per_threshold()[0]
        shown = ", ".join(map(str, self._written(name, near).tolist()))
        raise ValueError(f"{threshold} is none of the {held.size} {name}; near ones are {shown}")

    def to_frame(self) -> "pandas.DataFrame":
        """One row per threshold, with the settings in each row; needs the extra "io".

        Thresholds, beta and delta are written as in ``to_dict``; status is a category.

        Raises:
            ValueError: the certificate is batched or without values.
        """
        pandas = import_extra("pandas", "io")
        _check_values(self)
        if any(np.ndim(getattr(self, name)) != 1 for name in (self._per_threshold()[0], "status")):
            raise ValueError("certificate is batched; expected one set of tasks: index its arrays first")
        fields = dict.fromkeys([*self._per_threshold(), *(field.name for field in dataclasses.fields(self))])
        values = {name: getattr(self, name) for name in fields}
        columns = {name: self._written(name, value) for name, value in values.items() if self._is_column(name, value)}
        columns["status"] = pandas.Categorical.from_codes(columns["status"], [status.name.lower() for status in Status])
        return pandas.DataFrame({_SINGULAR.get(name, name): column for name, column in columns.items()})

    @property
    def _along(self) -> Any:
        return getattr(self, self._per_threshold()[0])

    @property
    def _beta_by_threshold(self) -> bool:
        """Whether beta was chosen for each threshold: otherwise it has at most the batch axes."""
        beta: Any = getattr(self, "beta", None)
        return np.ndim(beta) > 0 and np.ndim(beta) == np.ndim(getattr(self, self._per_threshold()[1]))

    def _one(self, index: Any) -> slice:
        try:
            place = operator.index(index)
        except TypeError as error:
            raise TypeError(f"index is {index!r}; expected an integer or a slice (a threshold: at)") from error
        if not -len(self) <= place < len(self):
            raise IndexError(f"index is {place}; the certificate has {len(self)} thresholds")
        return slice(place % len(self), place % len(self) + 1)

    def _is_column(self, name: str, value: Any) -> bool:
        return np.ndim(value) == 0 or (np.ndim(value) == 1 and name in (*self._per_threshold(), "beta"))


class OfCertificate:
    """A result that holds a certificate: printed, indexed and written as that."""

    certificate: Any

    def __str__(self) -> str:
        return str(self.certificate)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.certificate!r})"

    def __len__(self) -> int:
        return len(self.certificate)

    def __getitem__(self, index: int | slice) -> Any:
        """The certificate at one threshold, or at some of them."""
        return self.certificate[index]

    def at(self, threshold: float) -> Any:
        """The certificate at that threshold."""
        return self.certificate.at(threshold)

    def to_frame(self) -> "pandas.DataFrame":
        """The certificate with one row per threshold."""
        return self.certificate.to_frame()

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return self.certificate.to_dict()

    def to_json(self, *, indent: int | None = None) -> str:
        """The certificate as JSON."""
        return self.certificate.to_json(indent=indent)


def holds_values(certificate: Any) -> bool:
    """Whether all of its leaves are arrays that can be read."""
    leaves: list[Any] = jax.tree.leaves(certificate)
    return all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves) and is_concrete(leaves)


def listed(line: Callable[[int], str], count: int) -> str:
    """One line each, or the first and the last of many.

    Example:
        >>> print(listed(str, 10_000)[:32])
        0
        1
        2
        3
        4
        ... 9990 more ...
    """
    if count <= _MOST:
        return "\n".join(map(line, range(count)))
    ends = [*range(_ENDS), *range(count - _ENDS, count)]
    lines = [line(i) for i in ends]
    return "\n".join([*lines[:_ENDS], f"... {count - 2 * _ENDS} more ...", *lines[_ENDS:]])


def _check_values(certificate: Any) -> None:
    if not holds_values(certificate):
        raise ValueError("the certificate has no values here; expected it outside of jit and vmap")


def _names(codes: Any) -> Any:
    return [_names(code) for code in codes] if isinstance(codes, list) else Status(codes).name.lower()


def _finite(value: Any) -> Any:
    """The value with None for each number that is not finite."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
