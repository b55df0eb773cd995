"""From lower bounds to certificates: tables of epsilon, and look-ups in them in pieces that fit into memory."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates._compiled import count_violations, status_of
from jaxcert.certificates._method import Method
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import cast, complement_down
from jaxcert.sweep._grid import Grid
from jaxcert.sweep._plan import Lookup, Plan, beta_values, delta_values, starts

Piece = tuple[slice, slice]


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


class Lookups:
    """Tables of epsilon, each solved once, and the certificates looked up in them."""

    def __init__(self, grid: Grid, plan: Plan) -> None:
        self._grid, self._plan = grid, plan
        self._deltas = np.broadcast_to(delta_values(grid, plan.dtype), (len(grid.betas), len(grid.deltas)))
        self._thresholds = np.asarray(cast(np.asarray(grid.thresholds), plan.dtype, "up"))
        self._tables: dict[tuple[int, int], Table] = {}

    def certificates(
        self, method: int, sizes: Lookup, known: tuple[float, ...], lower: np.ndarray
    ) -> Iterator[tuple[Piece, Cells]]:
        """Yield slices of seeds and thresholds, with their certificates.

        Args:
            method: the index of the method in the grid.
            sizes: the sizes for the budget.
            known: the betas of ``lower``, in increasing order.
            lower: [betas, seeds, tasks].
        """
        described, betas = METHODS[self._grid.methods[method]], self._betas(method, sizes)
        table, chosen = self._table(method, sizes), np.searchsorted(known, betas)
        for seed in starts(self._plan.num_seeds, sizes.seeds_per_call):
            seeds = slice(seed, seed + sizes.seeds_per_call)
            some = lower[:, seeds, : sizes.num_tasks]
            for first in starts(len(self._thresholds), sizes.thresholds_per_call):
                piece = slice(first, first + sizes.thresholds_per_call)
                levels = (betas, self._deltas, self._thresholds[piece])
                yield (seeds, piece), look_up(described, some, chosen, table, *levels)

    def _betas(self, method: int, sizes: Lookup) -> np.ndarray:
        return beta_values(self._grid, sizes.num_tasks, self._plan.dtype)[method]

    def _table(self, method: int, sizes: Lookup) -> Table:
        key = (method, sizes.num_tasks)
        if key not in self._tables:
            betas = self._betas(method, sizes)
            described, n = METHODS[self._grid.methods[method]], self._plan.dtype.type(sizes.num_tasks)
            solved = solve_tables(described, self._plan.table_size, n, betas, self._deltas)
            # Kept on the host, since there may be one for each budget.
            self._tables[key] = jax.device_get(solved)
        return self._tables[key]


@functools.partial(jax.jit, static_argnums=(0, 1))
def solve_tables(method: Method, size: int, n, betas, deltas) -> Table:
    """Epsilon for every k, once for all seeds, bounds and thresholds; betas and deltas are [betas, deltas].

    The length does not depend on n, so that other numbers of tasks do not recompile: beyond n, the last value repeats.
    """
    k = jnp.minimum(jnp.arange(size, dtype=betas.dtype), n)
    k, *others = jnp.broadcast_arrays(k, jnp.asarray(n, k.dtype), betas[..., None], deltas[..., None])
    return Table(*method.solve(k, *others))


@functools.partial(jax.jit, static_argnums=0)
def look_up(method: Method, lower, chosen, table: Table, betas, deltas, thresholds) -> Cells:
    """Count violations and look up epsilon.

    Args:
        method: the method of the table.
        lower: [distinct betas, seeds, n].
        chosen: which of the distinct betas, int[betas, deltas].
        table: the table of that method and n, from ``solve_tables``.
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
