"""Certificates with named axes: as a table with one row per element, and as an xarray data set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import chex
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates._batch_axes import same_for_all
from jaxcert.certificates._figures import Status

if TYPE_CHECKING:
    import pandas
    import xarray

Dims = Sequence[str] | str | None
Coords = Mapping[str, Sequence[Any] | chex.Array] | None


def frame_of(certificate: Any, dims: Dims, coords: Coords) -> "pandas.DataFrame":
    """One row per element of the batch and threshold; see ``to_frame``."""
    pandas = import_extra("pandas", "io")
    first = next(iter(certificate.__dataclass_fields__))
    rows = certificate._own(first)
    sizes = dict(zip(_dims(certificate, dims), certificate.batch_shape, strict=True))
    sizes |= dict(zip(rows, np.shape(getattr(certificate, first))[-len(rows) :], strict=False))
    labels = _labels(coords, {name: size for name, size in sizes.items() if name not in _labelled(certificate)})
    columns: dict[str, Any] = {}
    for place, (name, size) in enumerate(sizes.items()):
        if name not in _labelled(certificate):
            values = labels[name] if name in labels else np.arange(size)
            columns[name] = _column(values.reshape((-1, *(1,) * (len(sizes) - place - 1))), tuple(sizes.values()))
    for name in _fields(certificate, rows):
        values, own = certificate._written(name, getattr(certificate, name)), certificate._own(name)
        if isinstance(values, np.ndarray):
            missing = (1,) * (len(rows) - len(own))
            values = _column(values.reshape((*values.shape, *missing)), tuple(sizes.values()))
        columns[certificate.__dataclass_fields__[name].metadata.get("column") or name] = values
    columns["status"] = pandas.Categorical.from_codes(columns["status"], _statuses())
    return pandas.DataFrame(columns)


def dataset_of(certificate: Any, dims: Dims, coords: Coords) -> "xarray.Dataset":
    """The arrays by the names of their axes; see ``to_xarray``."""
    xarray = import_extra("xarray", "io")
    names, batch = _dims(certificate, dims), certificate.batch_shape
    variables: dict[str, Any] = {}
    labels: dict[str, Any] = _static_labels(certificate)
    for name, held in certificate._arrays().items():
        own, values = certificate._own(name), certificate._written(name, held)
        values = np.asarray(_statuses())[values] if name == "status" else values
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


def _column(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(values, shape).ravel()


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


def _statuses() -> list[str]:
    """The names of the codes, in their order."""
    return [status.name.lower() for status in Status]
