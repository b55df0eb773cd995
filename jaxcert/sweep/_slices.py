"""Read returns in slices that fit into memory, or place them on a mesh of devices, and run a program on them."""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxcert.numerics._meshes import of_automatic_axes
from jaxcert.numerics._rounding import convert_host
from jaxcert.returns._checks import check_counts, check_returns
from jaxcert.returns._prepared import Needs, returns_dtype
from jaxcert.returns._sample import Sample, placed, sample_of

_AXES = ("num_seeds", "num_tasks", "num_rollouts")


@dataclasses.dataclass(frozen=True)
class Slices:
    """Returns [seeds, n, m] or [n, m], arrays or what can be sliced like one, that are read by slices."""

    returns: Any
    where: Any
    sharding: NamedSharding | None  # over the devices of a mesh; None for one device
    support: tuple[Any, Any]
    max_bytes: int  # about how much memory one call may take
    validate: bool

    def numbers(self, needs: Needs, m: int, run: Callable[[Sample], jax.Array], rows: int) -> np.ndarray:
        """Apply a program to the first m rollouts of each task: from a sample [..., n, m] to [rows, seeds, n].

        ``rows``: how many numbers it gives for each task; memory holds about this many copies of the returns.
        """
        if self._is_on_mesh:
            return np.asarray(self._on_mesh(needs, m, run)).reshape(rows, *self._sizes)
        found = np.empty((rows, *self._sizes), returns_dtype(self.returns))
        for chunk in self.chunks(m, rows):
            place = (*chunk, slice(m))[-len(self.returns.shape) :]
            x, where = self.returns[place], None if self.where is None else self.where[place]
            first, n = tuple(axis.start or 0 for axis in place), x.shape[-2]
            whole = n == self._sizes[1] and n > 1
            sample = sample_of(needs, x, self.support, where, self.validate, first=first, of_tasks=whole)
            part = np.asarray(run(placed(sample)))[..., :n]
            found[:, *chunk] = part.reshape(found[:, *chunk].shape)
        return found

    def chunks(self, m: int, rows: int) -> list[tuple[slice, slice]]:
        """The seeds and tasks of each slice, all of one size; the last ones overlap, so that nothing compiles twice."""
        seeds, n = self._sizes
        bytes_each = 4 * m * (4 + 4 * rows)
        tasks = max(1, min(n, self.max_bytes // bytes_each))
        together = max(1, min(seeds, self.max_bytes // (bytes_each * n))) if tasks == n else 1
        return list(itertools.product(_pieces(seeds, together), _pieces(n, tasks)))

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of seeds and tasks."""
        seeds, n, _ = (1, *self.returns.shape)[-3:]
        return seeds, n

    @property
    def _is_on_mesh(self) -> bool:
        x = self.returns
        return self.sharding is not None or (isinstance(x, jax.Array) and len(x.sharding.device_set) > 1)

    def _on_mesh(self, needs: Needs, m: int, run: Callable[[Sample], jax.Array]) -> jax.Array:
        """Run on the devices of a mesh; every process has all returns and gets all numbers."""
        x = self.returns
        sharding = _checked(self.sharding or x.sharding, x.shape)
        if self.validate and not (isinstance(x, jax.Array) and not x.is_fully_addressable):
            mask = None if self.where is None else np.asarray(self.where)
            check_counts(needs, mask)
            check_returns(np.asarray(x), *self.support, mask, binary=needs.binary, axes=True)
        x = _place(x, sharding, returns_dtype(x))
        where = None if self.where is None else _place(self.where, sharding, np.dtype(bool))
        everywhere = NamedSharding(sharding.mesh, PartitionSpec())
        sample = sample_of(needs, x, self.support, where, False)

        def of_first(sample: Sample) -> jax.Array:
            where = None if sample.where is None else sample.where[..., :m]
            return run(sample.replace(values=sample.values[..., :m], where=where, num_rollouts=np.int32(m)))

        return jax.jit(of_first, out_shardings=everywhere)(sample)


def _pieces(length: int, size: int) -> list[slice]:
    starts = (min(start, length - size) for start in range(0, length, size))
    return [slice(start, start + size) for start in starts]


def _checked(sharding: Any, shape: tuple[int, ...]) -> NamedSharding:
    """The sharding, or ValueError if it divides tasks or seeds unevenly, or splits the rollouts of a task."""
    if not isinstance(sharding, NamedSharding):
        raise ValueError(f"sharding is {sharding!r}; expected a jax.sharding.NamedSharding")
    spec = [*sharding.spec, *[None] * (len(shape) - len(sharding.spec))]
    for name, size, axes in zip(_AXES[-len(shape) :], shape, spec, strict=True):
        names = () if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
        parts = math.prod(sharding.mesh.shape[axis] for axis in names)
        if parts > 1 and name == "num_rollouts":
            raise ValueError("sharding splits the rollouts of a task; expected a split over seeds or tasks")
        if size % parts:
            raise ValueError(f"sharding splits {name} = {size} into {parts} parts; expected a mesh that divides it")
    return of_automatic_axes(sharding)


def _place(array: Any, sharding: NamedSharding, dtype: np.dtype) -> jax.Array:
    """The array on the devices of a mesh; each process holds all of it and places its own part, rounded down."""
    if isinstance(array, jax.Array):
        return jax.device_put(array, sharding)
    shape = tuple(array.shape)
    return jax.make_array_from_callback(shape, sharding, lambda i: convert_host(np.asarray(array[i]), dtype, "down"))
