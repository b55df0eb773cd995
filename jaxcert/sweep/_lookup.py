"""From lower bounds to certificates, in pieces that fit into memory."""

from collections.abc import Iterator

import jax
import numpy as np

from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import cast
from jaxcert.sweep import _stages
from jaxcert.sweep._grid import Grid
from jaxcert.sweep._plan import Lookup, Plan, beta_values, delta_values, starts

Piece = tuple[slice, slice]


class Lookups:
    """Tables of epsilon, each solved once, and the certificates looked up in them."""

    def __init__(self, grid: Grid, plan: Plan) -> None:
        self._grid, self._plan = grid, plan
        self._deltas = np.broadcast_to(delta_values(grid, plan.dtype), (len(grid.betas), len(grid.deltas)))
        self._thresholds = np.asarray(cast(np.asarray(grid.thresholds), plan.dtype, "up"))
        self._tables: dict[tuple[int, int], _stages.Table] = {}

    def certificates(
        self, method: int, sizes: Lookup, known: tuple[float, ...], lower: np.ndarray
    ) -> Iterator[tuple[Piece, _stages.Cells]]:
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
                yield (seeds, piece), _stages.certificates(described, some, chosen, table, *levels)

    def _betas(self, method: int, sizes: Lookup) -> np.ndarray:
        return beta_values(self._grid, sizes.num_tasks, self._plan.dtype)[method]

    def _table(self, method: int, sizes: Lookup) -> _stages.Table:
        key = (method, sizes.num_tasks)
        if key not in self._tables:
            betas = self._betas(method, sizes)
            described, n = METHODS[self._grid.methods[method]], self._plan.dtype.type(sizes.num_tasks)
            solved = _stages.tables(described, self._plan.table_size, n, betas, self._deltas)
            # Kept on the host, since there may be one for each budget.
            self._tables[key] = jax.device_get(solved)
        return self._tables[key]
