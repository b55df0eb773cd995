"""How many violations wanted safeties allow, and the level of lower bounds with which they do."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._arguments import divided
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates.band._crossing import joint_counts
from jaxcert.numerics._batches import as_argument, counts_from_zero, in_front
from jaxcert.numerics._rounding import Side, cast_host, complement_down
from jaxcert.returns._prepared import probability


class Allowed(NamedTuple):
    """What certificates at wanted safeties [t] are made of.

    Attributes:
        beta: a scalar.
        num_allowed: k* + 1, how many k, counted from 0, are allowed, int32[t]; 0 for none.
        feasible: whether the method has a solution at k = 0.
    """

    beta: jax.Array
    num_allowed: jax.Array
    feasible: jax.Array


def allowed_each(
    method: Method, wanted: jax.Array, delta: jax.Array, beta: Any, num_tasks: int, validate: bool
) -> Allowed:
    """For each safety on its own, at that delta."""
    solution = None
    if beta is None and method.best_beta is not None:
        beta, solution = method.best_beta(num_tasks, delta, wanted)
    elif beta is None:
        beta = method.default_beta(delta, num_tasks)
    beta = probability("beta", beta, wanted.dtype, "nearest", validate=validate, scalar=True)
    if solution is None:
        solution = method.solve(*counts_from_zero(num_tasks, delta, beta, wanted), beta, delta)
    number = as_argument(np.asarray(num_tasks, np.int32), solution.epsilon)
    return Allowed(beta, *_allowed(solution, number, wanted))


def allowed_together(
    method: Method,
    safety: Any,
    wanted: jax.Array,
    delta: Any,
    beta: Any,
    num_tasks: int,
    validate: bool,
) -> Allowed:
    """For all safeties together: exactly if the values can be read, else each at delta / t.

    Raises:
        ValueError: for a method with which that division of delta is not exact.
    """
    if method.best_beta is None:
        raise ValueError(f"simultaneous levels are calibrated for method 'binomial', not for {method.name!r}")
    dtype = np.dtype(wanted.dtype)
    known = _read(delta, beta, safety, dtype)
    if known is None:
        share = divided(delta, dtype, wanted.size, lambda whole: whole / wanted.size * (1 - 2.0**-50))
        return allowed_each(method, wanted, share, beta, num_tasks, validate)
    chosen, counts = joint_counts(num_tasks, *known)
    level = jax.device_put(cast_host(np.asarray(chosen), dtype, "down"))
    return Allowed(level, jnp.asarray(counts, jnp.int32) + 1, jnp.asarray(True))


def _read(delta: Any, beta: Any, safety: Any, dtype: np.dtype) -> tuple[float, tuple[float, ...], float | None] | None:
    """(delta down, safeties up, beta) as the type holds them, or None if they cannot be read, or not be used."""
    if not is_concrete(delta, beta, safety) or np.ndim(beta):
        return None
    sides: tuple[tuple[Any, Side], ...] = ((delta, "down"), (safety, "up"), (0.5 if beta is None else beta, "nearest"))
    rounded = [cast_host(np.asarray(value, np.float64).reshape(-1), dtype, side) for value, side in sides]
    if not all(np.all((row > 0) & (row < 1)) for row in rounded):
        return None
    whole, safeties, level = (row.astype(float).tolist() for row in rounded)
    if whole[0] < 1e-100:
        return None
    return whole[0], tuple(safeties), None if beta is None else level[0]


@jax.jit
def _allowed(solution: Solution, n: jax.Array, wanted: jax.Array) -> tuple[jax.Array, jax.Array]:
    epsilon = jnp.where(in_front(solution.epsilon, n), solution.epsilon, 1)
    return good_enough(epsilon, wanted), solution.feasible[0]


def good_enough(epsilon: jax.Array, wanted: jax.Array) -> jax.Array:
    """How many k, counted from 0, reach the wanted safety: k* + 1, [t]."""
    enough = complement_down(epsilon)[None, :] >= wanted[:, None]
    return jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1)
