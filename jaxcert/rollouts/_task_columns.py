"""The parameters of tasks as columns of files."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def task_columns(tasks: Any) -> dict[str, np.ndarray]:
    """The parameters of tasks, a pytree of arrays [n, ...], by name, each [n]; one without a name is called `task`."""
    columns: dict[str, np.ndarray] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tasks):
        name = jax.tree_util.keystr(path, simple=True, separator="_") or "task"
        rows = _rows(name, leaf)
        for i, column in enumerate(rows.T):
            full = f"{name}_{i}" if rows.shape[1] > 1 else name
            if full in columns:
                raise ValueError(f"two parameters of the tasks are called {full}; expected different names")
            columns[full] = column
    return columns


def _rows(name: str, leaf: Any) -> np.ndarray:
    """The leaf as [n, columns]."""
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
    if not array.ndim or array.dtype == object:
        raise ValueError(f"parameter {name} of the tasks is {array.dtype} of shape {array.shape}; expected [n, ...]")
    return array.reshape(len(array), -1)
