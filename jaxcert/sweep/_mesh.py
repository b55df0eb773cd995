"""Returns sharded over the devices of a mesh, in one process or several."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._prepare_array import check_returns
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics._rounding import convert_host
from jaxcert.sweep._chunked import Progress, Source
from jaxcert.sweep._plan import Pass, Plan

_AXES = ("num_seeds", "num_tasks", "num_rollouts")


def is_sharded(array: Any) -> bool:
    """Whether the array lies on more than one device."""
    return isinstance(array, jax.Array) and len(array.sharding.device_set) > 1


def sharded_bounds(
    source: Source, sharding: NamedSharding | None, plan: Plan, progress: Progress
) -> Iterator[np.ndarray]:
    """[betas, seeds, tasks] for each pass, computed on the devices of the returns, then gathered by every process."""
    on_device = isinstance(source.returns, jax.Array)
    sharding = _checked(sharding or source.returns.sharding, source.returns.shape)
    bounds = [BOUNDS[each.bound] for each in plan.passes]
    if source.validate and not on_device:
        for bound in {(each.binary, each.min_rollouts): each for each in bounds}.values():
            _check_returns(source, sharding, bound)
    x = _place(source.returns, sharding, source.dtype)
    where = None if source.where is None else _place(source.where, sharding, np.dtype(bool))
    progress(0, len(bounds))
    for done, (bound, each) in enumerate(zip(bounds, plan.passes, strict=True), 1):
        lower = _lower(source, each, x, where)
        # Returns on the devices are fetched only if some of them are invalid.
        if source.validate and on_device and not np.isfinite(lower).all():
            _check_returns(source, sharding, bound)
        progress(done, len(bounds))
        yield lower if x.ndim == 3 else lower[:, None]


def _checked(sharding: Any, shape: tuple[int, ...]) -> NamedSharding:
    """The sharding, or ValueError if it divides tasks or seeds unevenly, or splits the rollouts of a task."""
    if not isinstance(sharding, NamedSharding):
        raise ValueError(f"sharding is {sharding!r}; expected a jax.sharding.NamedSharding")
    for name, size, axes in zip(_AXES[-len(shape) :], shape, _mesh_axes(sharding, len(shape)), strict=True):
        parts = math.prod(sharding.mesh.shape[axis] for axis in axes)
        if parts > 1 and name == "num_rollouts":
            raise ValueError("sharding splits the rollouts of a task; expected a split over seeds or tasks")
        if size % parts:
            raise ValueError(f"sharding splits {name} = {size} into {parts} parts; expected a mesh that divides it")
    return sharding


def _mesh_axes(sharding: NamedSharding, ndim: int) -> list[tuple[str, ...]]:
    """The axes of the mesh that split each array axis."""
    spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    return [() if axes is None else (axes,) if isinstance(axes, str) else tuple(axes) for axes in spec]


def _check_returns(source: Source, sharding: NamedSharding, bound: Bound) -> None:
    """Check the original returns part by part; every process checks all parts, so that all raise the same error."""
    if is_concrete(source.returns, source.where):
        x, where = (np.asarray(a) if isinstance(a, jax.Array) else a for a in (source.returns, source.where))
        parts = sharding.devices_indices_map(tuple(x.shape)).values()
        for first, part in {tuple(axis.start or 0 for axis in part): part for part in parts}.items():
            mask = None if where is None else np.asarray(where[part])
            check_returns(bound, np.asarray(x[part]), source.support, mask, first=first)


def _place(array: Any, sharding: NamedSharding, dtype: np.dtype) -> jax.Array:
    """The array on the devices of a mesh; each process holds all of it and places its own part, rounded down."""
    if isinstance(array, jax.Array):
        return jax.device_put(array, sharding)
    shape = tuple(array.shape)
    return jax.make_array_from_callback(shape, sharding, lambda i: convert_host(np.asarray(array[i]), dtype, "down"))


def _lower(source: Source, each: Pass, x: jax.Array, where: jax.Array | None) -> np.ndarray:
    """[betas, ..., tasks] on the host, from all returns and their mask on the mesh."""
    bound, betas, sharding = BOUNDS[each.bound], np.asarray(each.betas, source.dtype), x.sharding
    x, low, high, where = prepare(bound, x, source.support, where, False)
    # Host values, which every process has, instead of arrays on a device of this process alone.
    low, high = np.asarray(low), np.asarray(high)
    return np.asarray(_on_mesh(bound, sharding, each.num_rollouts, math.prod(each.chunk), x, betas, low, high, where))


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
    if math.prod(shape) <= rows:
        return evaluate_first(x, where)
    flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), (x, where))
    return jax.lax.map(lambda one: evaluate_first(*one), flat, batch_size=rows).reshape(shape)
