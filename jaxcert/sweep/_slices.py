"""Returns read in slices that fit into memory, or placed on a mesh of devices, and what a program makes of them."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxcert.numerics._meshes import of_automatic_axes
from jaxcert.numerics._rounding import convert_host
from jaxcert.returns._checks import check_returns
from jaxcert.returns._prepared import returns_dtype
from jaxcert.returns._sample import Needs, Sample, check_counts, placed, sample_of

_AXES = ("num_seeds", "num_tasks", "num_rollouts")


@dataclasses.dataclass(frozen=True)
class Slices:
    """Returns [seeds, n, m] or [n, m] that are read by slices.

    Attributes:
        returns, where: arrays, or what can be sliced like one.
        sharding: over the devices of a mesh; None for one device.
        support: (a, b).
        max_bytes: about how much memory one call may take.
        validate: whether to check the values.
        step: called after each slice.
    """

    returns: Any
    where: Any
    sharding: NamedSharding | None
    support: tuple[Any, Any]
    max_bytes: int
    validate: bool
    step: Callable[[], None]

    def numbers(self, needs: Needs, m: int, run: Callable[[Sample], jax.Array], rows: int) -> np.ndarray:
        """What a program makes of the first m rollouts of each task: from a sample [..., n, m] to [rows, seeds, n].

        ``rows``: how many numbers there are for each task; about as many copies of the returns are in memory.
        """
        seeds, n = (1, *self.returns.shape)[-3:-1]
        if self._is_on_mesh:
            found = np.asarray(self._on_mesh(needs, m, run))
            self.step()
            return found.reshape(rows, seeds, n)
        found, chunks = None, self.chunks(m, rows)
        for chunk in chunks:
            tasks = chunk[1].stop - chunk[1].start
            place = (*chunk, slice(m))[-len(self.returns.shape) :]
            x, where = self.returns[place], None if self.where is None else self.where[place]
            first = tuple(axis.start or 0 for axis in place)
            sample = sample_of(needs, x, self.support, where, self.validate, first=first, of_tasks=tasks == n and n > 1)
            part = np.asarray(run(placed(sample)))[..., : x.shape[-2]]
            found = np.empty((rows, seeds, n), part.dtype) if found is None else found
            found[:, *chunk] = part if part.ndim == 3 else part[:, None]
            self.step()
        assert found is not None
        return found

    def chunks(self, m: int, rows: int) -> list[tuple[slice, slice]]:
        """The seeds and tasks of each slice."""
        seeds, n = (1, *self.returns.shape)[-3:-1]
        if self._is_on_mesh:
            return [(slice(seeds), slice(n))]
        bytes_each = 4 * m * (4 + 4 * rows)
        tasks = max(1, min(n, self.max_bytes // bytes_each))
        return _tiles((seeds, n), (max(1, min(seeds, self.max_bytes // (bytes_each * n))) if tasks == n else 1, tasks))

    @property
    def _is_on_mesh(self) -> bool:
        return self.sharding is not None or _is_sharded(self.returns)

    def _on_mesh(self, needs: Needs, m: int, run: Callable[[Sample], jax.Array]) -> jax.Array:
        """On the devices of a mesh; every process has all returns, and gets all numbers."""
        x = self.returns
        sharding = _checked(self.sharding or x.sharding, x.shape)
        if self.validate and not (isinstance(x, jax.Array) and not x.is_fully_addressable):
            mask = None if self.where is None else np.asarray(self.where)
            check_returns(np.asarray(x), *self.support, mask, binary=needs.binary, axes=True)
            check_counts(needs, mask)
        x = _place(x, sharding, returns_dtype(x))
        where = None if self.where is None else _place(self.where, sharding, np.dtype(bool))
        everywhere = NamedSharding(sharding.mesh, PartitionSpec())
        sample = sample_of(needs, x, self.support, where, False)
        first = functools.partial(_first, m)
        return jax.jit(lambda sample: run(first(sample)), out_shardings=everywhere)(sample)


def _first(m: int, sample: Sample) -> Sample:
    """The sample of the first m rollouts."""
    where = None if sample.where is None else sample.where[..., :m]
    return sample.replace(values=sample.values[..., :m], where=where, num_rollouts=np.int32(m))


def _tiles(shape: tuple[int, int], size: tuple[int, int]) -> list[tuple[slice, slice]]:
    """Slices of one size that cover two axes; the last ones overlap others, so that nothing is compiled twice."""
    axes = []
    for length, step in zip(shape, size, strict=True):
        starts = [min(start, length - step) for start in range(0, length, step)]
        axes.append([slice(start, start + step) for start in starts])
    return list(itertools.product(*axes))


def _is_sharded(array: Any) -> bool:
    """Whether the array lies on more than one device."""
    return isinstance(array, jax.Array) and len(array.sharding.device_set) > 1


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
