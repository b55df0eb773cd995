"""The compiled steps of a sweep: lower bounds of one chunk, tables of epsilon, and the certificates."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.certificates._compiled import count_violations, status_of
from jaxcert.certificates._method import Method
from jaxcert.numerics._rounding import complement_down


class Table(NamedTuple):
    """Epsilon, K and feasibility for k = 0, ..., n, padded, each [betas, deltas, size]."""

    epsilon: jax.Array
    num_valid: jax.Array
    feasible: jax.Array


class Cells(NamedTuple):
    """Certificates of one bound, method and budget, each [seeds, betas, deltas, thresholds]."""

    epsilon: jax.Array
    safety: jax.Array
    num_violations: jax.Array
    num_valid: jax.Array
    status: jax.Array


@functools.partial(jax.jit, static_argnums=0)
def lower_bounds(bound: Bound, x, betas, low, high, where) -> jax.Array:
    """The bound at every beta, from [..., n, m] and [betas] to [betas, ..., n]; parts without beta are shared."""
    return jax.vmap(lambda beta: evaluate(bound, x, beta, low, high, where))(betas)


@functools.partial(jax.jit, static_argnums=(0, 1))
def tables(method: Method, size: int, n, betas, deltas) -> Table:
    """Epsilon for every k, once for all seeds, bounds and thresholds; betas and deltas are [betas, deltas].

    The length does not depend on n, so that other numbers of tasks do not recompile: beyond n, the last value repeats.
    """
    k = jnp.minimum(jnp.arange(size, dtype=betas.dtype), n)
    k, *others = jnp.broadcast_arrays(k, jnp.asarray(n, k.dtype), betas[..., None], deltas[..., None])
    return Table(*method.solve(k, *others))


@functools.partial(jax.jit, static_argnums=0)
def certificates(method: Method, lower, chosen, table: Table, betas, deltas, thresholds) -> Cells:
    """Count violations and look up epsilon.

    Args:
        method: the method of the table.
        lower: [distinct betas, seeds, n].
        chosen: which of the distinct betas, int[betas, deltas].
        table: the table of that method and n, from ``tables``.
        betas: [betas, deltas].
        deltas: [betas, deltas].
        thresholds: [t].
    """
    n = lower.shape[-1]
    violations = count_violations(lower, jnp.broadcast_to(thresholds, (*lower.shape[:-1], len(thresholds))))
    invalid = jnp.any(jnp.isneginf(lower), axis=-1)

    def one(index, row: Table, beta, delta) -> Cells:
        k = violations[index]
        epsilon, num_valid, feasible = (column[k] for column in row)
        status = status_of(method, epsilon, feasible, invalid[index][:, None], beta, delta, n)
        return Cells(epsilon, complement_down(epsilon), k, num_valid, status)

    cells = jax.vmap(jax.vmap(one))(chosen, table, betas, deltas)
    return jax.tree.map(lambda a: jnp.moveaxis(a, 2, 0), cells)
