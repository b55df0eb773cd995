"""Arguments of the certificates: rounded to the safe side, refused by message."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete, refuse
from jaxcert.numerics import cast, compute_dtype


def epsilon_arguments(
    k: Any, n: Any, beta: Any, delta: Any, validate: bool, *, zero_beta: bool
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(k up, n down, beta, delta down) as arrays of one float type and one shape."""
    if validate:
        _check_counts(k, n)
        check_level("beta", beta, zero_allowed=zero_beta)
        check_level("delta", delta)
    dtype = compute_dtype(beta, delta)
    arrays = (
        cast(k, dtype, "up"),
        cast(n, dtype, "down"),
        cast(beta, dtype, "nearest"),
        cast(delta, dtype, "down"),
    )
    k, n, beta, delta = jnp.broadcast_arrays(*arrays)
    return k, n, beta, delta


def _check_counts(k: Any, n: Any) -> None:
    if not is_concrete(k, n):
        return
    tasks = np.asarray(n, dtype=np.float64)
    refuse("num_tasks", tasks, (tasks >= 1) & (tasks == np.floor(tasks)), "a whole number of at least 1")
    violations, tasks = np.broadcast_arrays(np.asarray(k, dtype=np.float64), tasks)
    good = (violations >= 0) & (violations <= tasks) & (violations == np.floor(violations))
    refuse("num_violations", violations, good, "a whole number between 0 and num_tasks")


def check_level(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """Raise ValueError for a readable probability outside (0, 1), or [0, 1)."""
    if is_concrete(value):
        check_open_unit(name, value, zero_allowed=zero_allowed)


def check_scalar(name: str, value: Any) -> None:
    """Raise ValueError unless the value has no axes."""
    if np.ndim(value) != 0:
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar (use jax.vmap for several)")
