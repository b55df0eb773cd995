"""Certificates as plain values, as a table and as a data set with named axes, and at one of their thresholds."""

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import chex
import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import is_concrete
from jaxcert.certificates._batch_axes import Batched, same_for_all
from jaxcert.certificates._figures import Status, ceil_figures, floor_figures
from jaxcert.numerics._rounding import cast_host

if TYPE_CHECKING:
    import pandas
    import xarray

Dims = Sequence[str] | str | None
Coords = Mapping[str, Sequence[Any] | chex.Array] | None
# The names of the codes, in their order.
_STATUSES = [status.name.lower() for status in Status]


class Plain(Batched):
    """A dataclass of a certificate as plain values, and with named axes."""

    # The decimal that a number of an array stands for, on its safe side; as a certificate is printed.
    _decimals: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "thresholds": lambda value: floor_figures(float(value)),
        "shares": lambda value: ceil_figures(float(value)),
        "delta": lambda value: ceil_figures(float(value)),
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

    def to_frame(self, dims: Dims = None, *, coords: Coords = None) -> "pandas.DataFrame":
        """One row per threshold (or share), of each element of a batch, with the settings in each row.

        It needs the extra "io". Thresholds, beta and delta are written as in ``to_dict``; status is a category. Arrays
        with other axes, as the lower bounds of the tasks, are in ``to_xarray``.

        Args:
            dims: names of the axes of a batch, one column each: ("seed", "checkpoint"). By default axis_0, axis_1, ...
            coords: labels in these columns, by their names; by default they count from 0.

        Raises:
            ValueError: the certificate has no values; names or labels that do not fit its axes.

        Example:
            >>> import numpy as np
            >>> from jaxcert import certify_lower_bounds
            >>> lower_bounds = np.linspace(0, 1, 120).reshape(2, 3, 20)  # of 2 seeds, 3 checkpoints and 20 tasks
            >>> found = certify_lower_bounds(lower_bounds, [0.2, 0.5], delta=0.1, beta=0.05)
            >>> frame = found.to_frame(dims=("seed", "checkpoint"), coords={"checkpoint": [100, 200, 300]})
            >>> len(frame), list(frame.columns[:4])
            (12, ['seed', 'checkpoint', 'threshold', 'safety'])
            >>> frame.checkpoint.tolist()
            [100, 100, 200, 200, 300, 300, 100, 100, 200, 200, 300, 300]
        """
        _check_values(self)
        return frame_of(self, dims, coords)

    def to_xarray(self, dims: Dims = None, *, coords: Coords = None) -> "xarray.Dataset":
        """All arrays with the names of their axes, and the static settings as attributes; needs the extra "io".

        Thresholds (or shares) are the labels of their axis, unless they differ within a batch. Thresholds, beta and
        delta are written as in ``to_dict``, statuses by their names; a bool is an attribute of 0 or 1.

        Args:
            dims: names of the axes of a batch, as in ``to_frame``.
            coords: labels of these axes, or of the tasks ("task"), by their names.

        Raises:
            ValueError: as ``to_frame``.

        Example:
            >>> import numpy as np
            >>> from jaxcert import certify_lower_bounds
            >>> lower_bounds = np.linspace(0, 1, 120).reshape(2, 3, 20)
            >>> found = certify_lower_bounds(lower_bounds, [0.2, 0.5], delta=0.1, beta=0.05)
            >>> data = found.to_xarray(dims=("seed", "checkpoint"))
            >>> dict(data.sizes)
            {'seed': 2, 'checkpoint': 3, 'threshold': 2, 'task': 20}
            >>> data.safety.sel(threshold=0.5).max("checkpoint").dims
            ('seed',)
        """
        _check_values(self)
        return dataset_of(self, dims, coords)

    def _plain(self, name: str, value: Any) -> Any:
        if not isinstance(value, jax.Array | np.ndarray):
            return value.to_dict() if isinstance(value, Plain) else value
        return (np.asarray(_STATUSES)[np.asarray(value)] if name == "status" else self._written(name, value)).tolist()

    def _written(self, name: str, value: Any) -> Any:
        """The values, as decimals if they are such settings in single precision; what is no array as it is."""
        if not isinstance(value, jax.Array | np.ndarray):
            return value
        values = np.asarray(value)
        if name not in self._decimals or values.dtype != np.float32:
            return values
        decimals = [float(self._decimals[name](entry)) for entry in values.ravel()]
        return np.asarray(decimals, np.float64).reshape(values.shape)


class ByThreshold(Plain):
    """A certificate at each of several thresholds, or shares, which its first field holds."""

    def __len__(self) -> int:
        """The size of the first axis: of the thresholds, or of a batch."""
        return next(iter(self._sizes().values()))

    def at(self, threshold: float) -> Self:
        """The certificate at a threshold, which must be one of those certified, as a number of their type.

        Raises:
            ValueError: it is none of them; the message names those that are near. Or a batch has different ones.
        """
        _check_values(self)
        name = next(iter(self.__dataclass_fields__))
        held = same_for_all(getattr(self, name), self._own(name))
        if held is None or np.ndim(threshold):
            shape = np.shape(getattr(self, name))
            raise ValueError(
                f"threshold {threshold!r} for {name} {shape}; expected a number, and the same {name} for all"
            )
        # As given, or the decimal that a number in single precision stands for.
        wanted = [np.asarray(threshold).astype(np.float64), np.asarray(float(str(threshold)))]
        # Thresholds are rounded up, shares down; arrays in single precision have been rounded to nearest before.
        for number, side in itertools.product(wanted, ("up", "nearest", "down")):
            found = np.flatnonzero(held == cast_host(number, held.dtype, side))
            if found.size:
                return self[..., int(found[0])]
        near = held[np.sort(np.argsort(np.abs(held - wanted[0]))[:3])]
        shown = ", ".join(map(str, self._written(name, near).tolist()))
        raise ValueError(f"{threshold} is none of the {held.size} {name}; near ones are {shown}")


def holds_values(certificate: Any) -> bool:
    """Whether all of its leaves are arrays that can be read."""
    leaves: list[Any] = jax.tree.leaves(certificate)
    return all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves) and is_concrete(leaves)


def _check_values(certificate: Any) -> None:
    if not holds_values(certificate):
        raise ValueError("the certificate has no values here; expected it outside of jit and vmap")


def _finite(value: Any) -> Any:
    """The value with None for each number that is not finite."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- named axes -----------------------------------------------------------------------------------------------------


def frame_of(certificate: Any, dims: Dims, coords: Coords) -> "pandas.DataFrame":
    """One row per element of the batch and threshold; see ``to_frame``."""
    pandas = import_extra("pandas", "io")
    first = next(iter(certificate.__dataclass_fields__))
    rows = certificate._own(first)
    sizes = dict(zip(_dims(certificate, dims), certificate.batch_shape, strict=True))
    sizes |= dict(zip(rows, np.shape(getattr(certificate, first))[-len(rows) :], strict=False))
    shape, bare = tuple(sizes.values()), {name: sizes[name] for name in sizes if name not in _labelled(certificate)}
    labels = {**{name: np.arange(size) for name, size in bare.items()}, **_labels(coords, bare)}
    columns: dict[str, Any] = {}
    for name, places in zip(sizes, np.indices(shape), strict=True):
        if name in bare:
            columns[name] = labels[name][places.ravel()]
    for name in _fields(certificate, rows):
        values, own = certificate._written(name, getattr(certificate, name)), certificate._own(name)
        if isinstance(values, np.ndarray):
            whole = values.reshape((*values.shape, *(1,) * (len(rows) - len(own))))
            values = np.broadcast_to(whole, shape).ravel()
        columns[certificate.__dataclass_fields__[name].metadata.get("column") or name] = values
    columns["status"] = pandas.Categorical.from_codes(columns["status"], _STATUSES)
    return pandas.DataFrame(columns)


def dataset_of(certificate: Any, dims: Dims, coords: Coords) -> "xarray.Dataset":
    """The arrays by the names of their axes; see ``to_xarray``."""
    xarray = import_extra("xarray", "io")
    names, batch = _dims(certificate, dims), certificate.batch_shape
    variables: dict[str, Any] = {}
    labels: dict[str, Any] = _static_labels(certificate)
    for name, held in certificate._arrays().items():
        own, values = certificate._own(name), certificate._written(name, held)
        values = np.asarray(_STATUSES)[values] if name == "status" else values
        shared = same_for_all(values, own) if own and own[-1] in _labelled(certificate, name) else None
        if shared is not None:
            labels[own[-1]] = shared
            continue
        lead = names if values.ndim > len(own) else ()
        shape = values.shape[values.ndim - len(own) :]
        # A variable with several axes cannot have the name of one of them.
        variable = f"{name}_by_element" if name in own else name
        variables[variable] = ((*lead, *own), np.broadcast_to(values, (*batch, *shape) if lead else shape))
    sizes = {axis: size for axes, values in variables.values() for axis, size in zip(axes, values.shape, strict=True)}
    given = _labels(coords, {axis: size for axis, size in sizes.items() if axis not in labels})
    return xarray.Dataset(variables, {**labels, **given}, attrs=_settings(certificate))


def _dims(certificate: Any, dims: Dims) -> tuple[str, ...]:
    """The names of the axes of the batch: those given, or axis_0, axis_1 and so on."""
    shape = certificate.batch_shape
    if dims is None:
        return tuple(f"axis_{i}" for i in range(len(shape)))
    names = (dims,) if isinstance(dims, str) else tuple(dims)
    if len(names) != len(shape) or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"dims is {dims!r}; expected {len(shape)} different names, for a batch of shape {shape}")
    fields = certificate.__dataclass_fields__
    metadata = [field.metadata for field in fields.values()]
    taken = {*fields, *(each.get("column", "") for each in metadata), *(a for m in metadata for a in m.get("axes", ()))}
    if taken & set(names):
        raise ValueError(f"dims has {min(taken & set(names))!r}, which is a name of the certificate's own")
    return names


def _labels(coords: Coords, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The labels of some axes, checked against their sizes."""
    labels = {name: np.asarray(values) for name, values in (coords or {}).items()}
    for name, values in labels.items():
        if name not in sizes:
            raise ValueError(f"coords has {name!r}; expected some of {', '.join(map(repr, sizes)) or 'no axes'}")
        if values.shape != (sizes[name],):
            raise ValueError(f"coords has values of shape {values.shape} for {name!r}; expected [{sizes[name]}]")
    return labels


def _labelled(certificate: Any, *names: str) -> set[str]:
    """The axes that a field of the certificate, or of these fields, has the labels of."""
    fields = [certificate.__dataclass_fields__[name] for name in names or certificate._arrays()]
    axes = (field.metadata.get("axes", ()) for field in fields)
    columns = (field.metadata.get("column") or field.name for field in fields)
    return {own[-1] for own, column in zip(axes, columns, strict=True) if own == (column,)}


def _fields(certificate: Any, rows: tuple[str, ...]) -> list[str]:
    """The fields that fit in the rows, those of the rows first, and then the settings."""
    fields, arrays = certificate.__dataclass_fields__, certificate._arrays()
    each = [name for name in arrays if certificate._own(name) == rows and fields[name].metadata.get("axes")]
    whole = [name for name in fields if _is_setting(fields[name]) or (name in arrays and not certificate._own(name))]
    return list(dict.fromkeys([*each, *whole]))


def _settings(certificate: Any) -> dict[str, Any]:
    """The static fields; files of netCDF hold neither a bool nor nothing."""
    fields = certificate.__dataclass_fields__
    held = {name: getattr(certificate, name) for name, field in fields.items() if _is_setting(field)}
    return {name: int(value) if isinstance(value, bool) else value for name, value in held.items() if value is not None}


def _static_labels(certificate: Any) -> dict[str, Any]:
    """Names that are no array, as those of tasks, by the axis that they label."""
    fields = certificate.__dataclass_fields__.items()
    named = {name: field for name, field in fields if field.metadata.get("static") and field.metadata.get("axes")}
    return {field.metadata["axes"][-1]: np.asarray(getattr(certificate, name)) for name, field in named.items()}


def _is_setting(field: Any) -> bool:
    """Whether it is static and one for all."""
    return bool(field.metadata.get("static")) and not field.metadata.get("axes")
