"""Arguments of the functions from violations to epsilon: checked, and rounded to the safe side."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.numerics._rounding import cast, compute_dtype
from jaxcert.returns._prepared import probability


def epsilon_arguments(
    k: Any, n: Any, beta: Any, delta: Any, validate: bool, *, zero_beta: bool
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(k up, n down, beta up, delta down) as arrays of one float type: epsilon grows with k and beta."""
    dtype = compute_dtype(beta, delta)
    if validate and is_concrete(k, n):
        _check_counts(k, n, dtype)
    else:
        require_real("num_violations", k)
        require_real("num_tasks", n)
    return (
        cast(k, dtype, "up", whole=True),
        cast(n, dtype, "down", whole=True),
        probability("beta", beta, dtype, "up", validate=validate, zero_allowed=zero_beta),
        probability("delta", delta, dtype, "down", validate=validate),
    )


def whole(k: jax.Array, n: jax.Array) -> jax.Array:
    """Where 0 <= k <= n and n >= 1 are integers, and n is at most ``most_tasks`` of the type."""
    return (k >= 0) & (k <= n) & (n >= 1) & (n <= most_tasks(n.dtype)) & (k == jnp.floor(k)) & (n == jnp.floor(n))


def most_tasks(dtype: np.dtype) -> int:
    """The largest n such that all integers up to n are floats of the type: 2**24 or 2**53."""
    return 2 ** (jnp.finfo(dtype).nmant + 1)


def _check_counts(k: Any, n: Any, dtype: np.dtype) -> None:
    tasks = as_numbers("num_tasks", n)
    good = (tasks >= 1) & (tasks < np.inf) & (tasks == np.floor(tasks))
    refuse("num_tasks", tasks, good, "a whole number of at least 1")
    refuse("num_tasks", tasks, tasks <= most_tasks(dtype), f"at most {most_tasks(dtype)}, to which {dtype} can count")
    violations, tasks = np.broadcast_arrays(as_numbers("num_violations", k), tasks)
    good = (violations >= 0) & (violations <= tasks) & (violations == np.floor(violations))
    refuse("num_violations", violations, good, "a whole number between 0 and num_tasks")
