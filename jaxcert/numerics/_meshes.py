"""Arrays over a mesh of devices: how they are split is left to the compiler, whatever kind of axes the mesh has."""

from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxcert._validation import is_traced


def automatic(x: Any) -> Any:
    """An array without explicit axes of a mesh, which each sort, reshape and sum over tasks would have to be told of.

    One that can be read keeps its place on the devices. One that is traced, or used where such a mesh is set, is
    gathered on each of them: there, only a mesh of automatic axes, or ``jax.shard_map``, divides the work.
    """
    if not isinstance(x, jax.Array) or not _is_explicit(mesh := jax.typeof(x).sharding.mesh):
        return x
    if is_traced(x) or _is_explicit(jax.sharding.get_abstract_mesh()):
        return jax.sharding.reshard(x, NamedSharding(mesh, PartitionSpec()))
    return jax.device_put(x, of_automatic_axes(x.sharding))


def of_automatic_axes(sharding: Any) -> NamedSharding:
    """The same places on the devices of a mesh."""
    mesh = sharding.mesh
    automatic_axes = (AxisType.Auto,) * len(mesh.axis_names)
    return NamedSharding(Mesh(mesh.devices, mesh.axis_names, axis_types=automatic_axes), sharding.spec)


def _is_explicit(mesh: Any) -> bool:
    return AxisType.Explicit in (mesh.axis_types or ())
