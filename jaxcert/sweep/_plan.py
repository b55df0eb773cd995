"""The plan of a sweep, made before anything is computed: passes over the returns, and calls that fit into memory."""

import bisect
import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxcert._validation import check_count, check_finite, check_open_unit
from jaxcert.bounds._evaluate import bound_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._compiled import SORT_FROM
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._batches import block_size
from jaxcert.numerics._rounding import cast_host
from jaxcert.sweep._grid import Grid

Tile = tuple[slice, slice]


@dataclasses.dataclass(frozen=True)
class Pass:
    """One bound on the first m rollouts of every task, at all its betas at once, and the look-ups of its results.

    Attributes:
        bound: its name.
        num_tasks: the largest number of tasks in any budget with this m.
        num_rollouts: m.
        betas: the distinct failure probabilities in increasing order, in the type of the computation.
        chunk: for how many seeds and tasks one call evaluates the bound.
        piece: for how many seeds and thresholds one call looks up epsilon.
        bytes_per_call: the most that any call is expected to take.
    """

    bound: str
    num_tasks: int
    num_rollouts: int
    betas: tuple[float, ...]
    chunk: tuple[int, int]
    piece: tuple[int, int]
    bytes_per_call: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The work of a sweep.

    Attributes:
        grid: the settings.
        num_seeds: length of the leading axis.
        dtype: type of the computation.
        budgets: pairs (n, m).
        table_size: length of the tables of epsilon, the same for all budgets.
        passes: one per bound and number of rollouts.
    """

    grid: Grid
    num_seeds: int
    dtype: np.dtype
    budgets: tuple[tuple[int, int], ...]
    table_size: int
    passes: tuple[Pass, ...]

    @property
    def num_certificates(self) -> int:
        """Seeds × budgets × bounds × methods × betas × deltas × thresholds."""
        return self.num_seeds * self.grid.num_settings

    @property
    def num_chunks(self) -> int:
        """Calls that evaluate a bound."""
        return sum(len(tiles((self.num_seeds, each.num_tasks), each.chunk)) for each in self.passes)

    @property
    def result_bytes(self) -> int:
        """Memory of the result on the host."""
        return self.num_certificates * sum(np.dtype(each).itemsize for each in field_types(self.dtype).values())

    @property
    def device_bytes(self) -> int:
        """The most that one call is expected to hold on the device."""
        return max(each.bytes_per_call for each in self.passes)

    @property
    def largest_pass(self) -> Pass:
        """The first pass among those that read the most returns."""
        return max(self.passes, key=lambda each: each.num_tasks * each.num_rollouts)


def field_types(dtype: np.dtype) -> dict[str, Any]:
    """The arrays of a result and their types."""
    whole = ("num_violations", "num_valid", "status")
    return {"epsilon": dtype, "safety": dtype, **dict.fromkeys(whole, np.int32)}


def tiles(shape: tuple[int, int], size: tuple[int, int]) -> list[Tile]:
    """Slices of one size that cover two axes; the last ones overlap others, so that nothing is compiled twice."""
    axes = []
    for length, step in zip(shape, size, strict=True):
        starts = [min(start, length - step) for start in range(0, length, step)]
        axes.append([slice(start, start + step) for start in starts])
    return list(itertools.product(*axes))


def make_plan(shape: tuple[int, ...], dtype: np.dtype, grid: Grid, support: Any, max_bytes: int) -> Plan:
    """The plan for returns of shape [seeds, n, m], or ValueError for settings that do not fit them, or the memory."""
    if not isinstance(grid, Grid):
        raise ValueError(f"grid is {grid!r}; expected a jaxcert.sweep.Grid")
    check_count("max_bytes", max_bytes)
    seeds, tasks, rollouts = shape
    budgets = ((tasks, rollouts),) if grid.budgets is None else grid.budgets
    _check_budgets(budgets, tasks, rollouts, grid)
    _check_levels(budgets, grid, dtype)
    for name in grid.bounds:
        bound_support(BOUNDS[name], support)
    plan = Plan(grid, seeds, dtype, budgets, 1 + max(n for n, _ in budgets), ())
    passes = (_passes(plan, m, max_bytes) for m in dict.fromkeys(m for _, m in budgets))
    return dataclasses.replace(plan, passes=tuple(itertools.chain(*passes)))


def _check_budgets(budgets: tuple[tuple[int, int], ...], tasks: int, rollouts: int, grid: Grid) -> None:
    for n, m in budgets:
        if n > tasks or m > rollouts:
            raise ValueError(
                f"budgets of the grid holds ({n}, {m}); the returns have {tasks} tasks with {rollouts} rollouts"
            )
        for name in grid.bounds:
            if m < BOUNDS[name].min_rollouts:
                raise ValueError(f"{name} needs at least {BOUNDS[name].min_rollouts} rollouts per task, found {m}")


def _check_levels(budgets: tuple[tuple[int, int], ...], grid: Grid, dtype: np.dtype) -> None:
    """Raise ValueError for levels and thresholds that the type of the computation cannot hold."""
    check_finite("thresholds", grid.thresholds, dtype=dtype)
    check_open_unit("deltas", grid.deltas, dtype=dtype)
    for n, _ in budgets:
        check_open_unit("betas", beta_values(grid, n, dtype), dtype=dtype)


def beta_values(grid: Grid, num_tasks: int, dtype: np.dtype) -> np.ndarray:
    """The betas in use, [methods, betas, deltas], rounded as ``certify`` does."""
    deltas = delta_values(grid, dtype)
    values = np.empty((len(grid.methods), len(grid.betas), len(deltas)), dtype)
    for i, method in enumerate(grid.methods):
        for j, beta in enumerate(grid.betas):
            values[i, j] = METHODS[method].default_beta(deltas, num_tasks) if beta is None else beta
    return values


def delta_values(grid: Grid, dtype: np.dtype) -> np.ndarray:
    """The deltas as the type holds them, rounded down."""
    return cast_host(np.asarray(grid.deltas), dtype, "down")


def _passes(plan: Plan, m: int, max_bytes: int) -> list[Pass]:
    """One for each bound on the first m rollouts; the bounds share the sizes of their calls."""
    grid, dtype, seeds, table = plan.grid, plan.dtype, plan.num_seeds, plan.table_size
    tasks = [n for n, other in plan.budgets if other == m]
    betas = tuple(np.unique([beta_values(grid, n, dtype) for n in tasks]).tolist())
    n, num_betas, pairs = max(tasks), len(betas), len(grid.betas) * len(grid.deltas)

    def evaluating(seeds: int, tasks: int) -> int:
        return bound_bytes(seeds * tasks, m, num_betas, dtype)

    def looking_up(seeds: int, thresholds: int) -> int:
        piece = lookup_bytes(seeds, thresholds, n, num_betas, pairs, table, dtype)
        return max(table_bytes(pairs, table, dtype), piece)

    chunk = _fit(max_bytes, evaluating, seeds, n, f"one task with {m} rollouts at {num_betas} betas")
    what = f"one threshold, with epsilon for each number of violations among {table - 1} tasks,"
    piece = _fit(max_bytes, looking_up, seeds, len(grid.thresholds), what)
    most = max(evaluating(*chunk), looking_up(*piece))
    return [Pass(name, n, m, betas, chunk, piece, most) for name in grid.bounds]


def _fit(max_bytes: int, needed: Callable[[int, int], int], rows: int, columns: int, what: str) -> tuple[int, int]:
    """The most rows and columns for which a call fits into memory: whole rows if one fits, else a part of one."""
    if needed(1, 1) > max_bytes:
        raise ValueError(f"max_bytes is {max_bytes}; expected at least {needed(1, 1)}, what {what} needs")
    rows = bisect.bisect(range(1, rows + 1), max_bytes, key=lambda some: needed(some, columns)) or 1
    return rows, bisect.bisect(range(1, columns + 1), max_bytes, key=lambda some: needed(rows, some))


# --- bytes of a call, bounds on XLA's allocations: a test compares them with its own analysis of each compiled call ---


def bound_bytes(rows: int, m: int, num_betas: int, dtype: np.dtype) -> int:
    """Of one evaluation of a bound, for ``rows`` tasks with m rollouts: some copies of the returns for every beta."""
    return rows * dtype.itemsize * (m * (5 + 4 * num_betas) + 64 * num_betas)


def table_bytes(pairs: int, size: int, dtype: np.dtype) -> int:
    """Of solving for epsilon at ``size`` values of k for each pair of beta and delta, a block at a time."""
    return dtype.itemsize * (80 * min(pairs * size, block_size()) + 12 * pairs * size)


def lookup_bytes(seeds: int, thresholds: int, n: int, num_betas: int, pairs: int, size: int, dtype: np.dtype) -> int:
    """Of counting violations of bounds [num_betas, seeds, n] and looking up epsilon in tables [pairs, size]."""
    # Each bound is compared with each of a few thresholds, or sorted.
    counting = num_betas * (n * (4 + min(thresholds, SORT_FROM)) + 3 * thresholds)
    return dtype.itemsize * (seeds * (counting + 12 * pairs * thresholds) + 4 * pairs * size)
