"""Let the trainers of Brax work with current releases of JAX."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


@contextlib.contextmanager
def brax_compatibility() -> Iterator[None]:
    """A context in which the trainers of Brax 0.14 run on JAX 0.10 and newer.

    They call ``jax.device_put_replicated``, which JAX removed in 0.10. The context provides it, as written in JAX's
    guide to the migration of ``pmap``, and removes it afterwards. If JAX has it, nothing is done. Put it around
    ``brax.training.agents.ppo.train``.

    Returns:
        A context manager.

    Example:
        >>> import jax
        >>> with brax_compatibility():
        ...     hasattr(jax, "device_put_replicated")
        True
    """
    if hasattr(jax, "device_put_replicated"):
        yield
        return
    setattr(jax, "device_put_replicated", _device_put_replicated)  # noqa: B010
    try:
        yield
    finally:
        delattr(jax, "device_put_replicated")


def _device_put_replicated(tree: Any, devices: Sequence[Any]) -> Any:
    """Each array with a new leading axis, one copy of it on every device."""
    spread = NamedSharding(Mesh(np.array(devices), ("device",)), PartitionSpec("device"))
    return jax.tree.map(
        lambda leaf: jax.device_put(jnp.broadcast_to(leaf, (len(devices), *jnp.shape(leaf))), spread), tree
    )
