"""Returns sharded over the devices of a mesh, in one process or several."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import check_returns, evaluate, prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics._rounding import convert_host
from jaxcert.sweep._chunked import Source
from jaxcert.sweep._plan import Pass, Plan

_AXES = ("num_seeds", "num_tasks", "num_rollouts")


def is_sharded(array: Any) -> bool:
    """Whether the array lies on more than one device."""
    return isinstance(array, jax.Array) and len(array.sharding.device_set) > 1


def check_sharding(shape: tuple[int, ...], sharding: Any) -> NamedSharding:
    """The sharding, if it divides tasks and seeds evenly and keeps the rollouts of a task together.

    Raises:
        ValueError: if it does not.
    """
    if not isinstance(sharding, NamedSharding):
        raise ValueError(f"sharding is {sharding!r}; expected a jax.sharding.NamedSharding")
    for name, size, parts in zip(_AXES[-len(shape) :], shape, _parts(sharding, len(shape)), strict=True):
        if parts > 1 and name == "num_rollouts":
            raise ValueError("sharding splits the rollouts of a task; expected a split over seeds or tasks")
        if size % parts:
            raise ValueError(f"sharding splits {name} = {size} into {parts} parts; expected a mesh that divides it")
    return sharding


def _parts(sharding: NamedSharding, ndim: int) -> list[int]:
    """Into how many parts each array axis is split."""
    return [int(np.prod([sharding.mesh.shape[name] for name in names])) for names in _mesh_axes(sharding, ndim)]


def _mesh_axes(sharding: NamedSharding, ndim: int) -> list[tuple[str, ...]]:
    """The axes of the mesh that split each array axis."""
    spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    return [() if axes is None else (axes,) if isinstance(axes, str) else tuple(axes) for axes in spec]


class ShardedLowerBounds:
    """Lower bounds computed on the devices that hold the returns, then gathered by every process."""

    def __init__(
        self,
        source: Source,
        sharding: NamedSharding | None,
        plan: Plan,
        support: Any,
        progress: Callable[[int, int], None],
        validate: bool,
    ) -> None:
        self._source, self._plan, self._support = source, plan, support
        self._validate, self._progress = validate, progress
        self._on_device = isinstance(source.returns, jax.Array)
        self._sharding = check_sharding(tuple(source.returns.shape), sharding or source.returns.sharding)
        if validate and not self._on_device:
            for bound in {(each.binary, each.min_rollouts): each for each in self._bounds()}.values():
                self._check(bound)
        self._x = _place(source.returns, self._sharding, source.dtype)
        self._where = None if source.where is None else _place(source.where, self._sharding, np.dtype(bool))
        self._done = 0
        progress(0, len(plan.passes))

    def compute(self, each: Pass) -> np.ndarray:
        """[betas, seeds, tasks] on the host."""
        bound = BOUNDS[each.bound]
        betas = np.asarray(each.betas, self._plan.dtype)
        x, low, high, where = prepare(bound, self._x, self._support, self._where, False)
        # Host values, which every process has, instead of arrays on a device of this process alone.
        low, high = np.asarray(low), np.asarray(high)
        rows = each.seeds_per_chunk * each.tasks_per_chunk
        lower = np.asarray(_on_mesh(bound, self._x.sharding, each.num_rollouts, rows, x, betas, low, high, where))
        # Returns on the devices are fetched only if some of them are invalid.
        if self._validate and self._on_device and np.isneginf(lower).any():
            self._check(bound)
        self._done += 1
        self._progress(self._done, len(self._plan.passes))
        return lower if self._x.ndim == 3 else lower[:, None]

    def _bounds(self) -> list[Bound]:
        return [BOUNDS[each.bound] for each in self._plan.passes]

    def _check(self, bound: Bound) -> None:
        """Check the original returns part by part; every process checks all parts, so that all raise the same error."""
        x: Any = self._source.returns
        where: Any = self._source.where
        if is_concrete(x, where):
            x, where = (np.asarray(array) if isinstance(array, jax.Array) else array for array in (x, where))
            parts = self._sharding.devices_indices_map(tuple(x.shape)).values()
            for first, part in {tuple(axis.start or 0 for axis in part): part for part in parts}.items():
                mask = None if where is None else np.asarray(where[part])
                check_returns(bound, np.asarray(x[part]), self._support, mask, first=first)


def _place(array: Any, sharding: NamedSharding, dtype: np.dtype) -> jax.Array:
    """The array on the devices of a mesh; each process holds all of it and places its own part, rounded down."""
    if isinstance(array, jax.Array):
        return jax.device_put(array, sharding)

    def part(index: Any) -> np.ndarray:
        host = np.asarray(array[index])
        return convert_host(host, dtype, "down")

    return jax.make_array_from_callback(tuple(array.shape), sharding, part)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _on_mesh(bound: Bound, sharding: NamedSharding, m: int, rows: int, x, betas, low, high, where) -> jax.Array:
    """Each device computes the bounds of its own tasks; then all devices gather the bounds of all tasks."""
    axes = _mesh_axes(sharding, x.ndim)[:-1]

    def on_device(x, betas, low, high, where):
        each = functools.partial(_blocks, bound, m, rows, low, high)
        lower = jax.vmap(each, in_axes=(0, None, None))(betas, x, where)
        for place, names in enumerate(axes, start=1):
            lower = jax.lax.all_gather(lower, names, axis=place, tiled=True) if names else lower
        return lower

    everywhere = PartitionSpec()
    specs = (sharding.spec, everywhere, everywhere, everywhere, sharding.spec)
    run = jax.shard_map(on_device, mesh=sharding.mesh, in_specs=specs, out_specs=everywhere, check_vma=False)
    return run(x, betas, low, high, where)


def _blocks(bound: Bound, m: int, rows: int, low, high, beta, x, where) -> jax.Array:
    """The bound on the first m rollouts, at most ``rows`` tasks at a time."""

    def evaluate_first(x: jax.Array, where: jax.Array | None) -> jax.Array:
        return evaluate(bound, x[..., :m], beta, low, high, None if where is None else where[..., :m])

    shape = x.shape[:-1]
    if int(np.prod(shape)) <= rows:
        return evaluate_first(x, where)
    flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), (x, where))
    return jax.lax.map(lambda one: evaluate_first(*one), flat, batch_size=rows).reshape(shape)
