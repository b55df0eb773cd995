"""Which programs a sweep runs, over which axes, and in which chunks of memory."""

import bisect
import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxcert._validation import check_count, check_finite, check_open_unit
from jaxcert.bounds._prepare_array import bound_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._compiled import SORT_FROM
from jaxcert.certificates._registry import COUNTED, COUNTING, METHODS
from jaxcert.numerics._batches import block_size
from jaxcert.numerics._rounding import cast_host
from jaxcert.sweep._grid import Grid


def bound_bytes(rows: int, m: int, num_betas: int, dtype: np.dtype) -> int:
    """Bytes for one evaluation of a bound, for ``rows`` tasks of m rollouts: some copies of the returns a beta."""
    return rows * dtype.itemsize * (m * (5 + 4 * num_betas) + 64 * num_betas)


def table_bytes(pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes to solve for epsilon at ``size`` values of k for each pair of beta and delta, a block at a time."""
    return dtype.itemsize * (80 * min(pairs * size, block_size()) + 12 * pairs * size)


def lookup_bytes(seeds: int, thresholds: int, n: int, num_betas: int, pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes to count violations of bounds [num_betas, seeds, n] and look epsilon up in tables [pairs, size]."""
    # Each bound is compared with each of a few thresholds, or sorted.
    counting = num_betas * (n * (4 + min(thresholds, SORT_FROM)) + 3 * thresholds)
    return dtype.itemsize * (seeds * (counting + 12 * pairs * thresholds) + 4 * pairs * size)


def counted_bytes(seeds: int, thresholds: int, n: int, dtype: np.dtype) -> int:
    """Bytes for the risks of counts [seeds, n] at a few levels for each threshold, a block of them at a time."""
    levels = 4 * thresholds
    # One problem per entry, or one per k and set of levels, whichever are fewer, and as many again to pad them.
    problems = 2 * max(128, levels, min(seeds * levels, 16 * (n + 1)))
    entries = seeds * (n * (4 + min(levels, SORT_FROM)) + 16 * levels)
    return dtype.itemsize * (entries + 16 * problems + 80 * min(problems, block_size()))


def masked_bytes(thresholds: int, n: int, dtype: np.dtype) -> int:
    """Bytes for the risks of tasks with unequal numbers of rollouts, one seed, a block of thresholds at a time."""
    block = min(thresholds, max(1, 2**19 // n))
    return dtype.itemsize * (block * n * 4 * 40 + 64 * (n + thresholds))


Tile = tuple[slice, slice]


@dataclasses.dataclass(frozen=True)
class Pass:
    """One bound on the first m rollouts of every task, at all its betas at once, and the look-ups of its results.

    Or counts of these rollouts, for a method that goes on from them.

    Attributes:
        bound: its name.
        num_tasks: the largest number of tasks in any budget with this m.
        num_rollouts: m.
        betas: the distinct failure probabilities in increasing order, in the type of the computation.
        chunk: for how many seeds and tasks one call evaluates the bound.
        piece: for how many seeds and thresholds one call looks up epsilon, or solves for it.
        bytes_per_call: the most that any call is expected to take.
        counted_for: the name of the method that goes on from counts; None for lower bounds.
    """

    bound: str
    num_tasks: int
    num_rollouts: int
    betas: tuple[float, ...]
    chunk: tuple[int, int]
    piece: tuple[int, int]
    bytes_per_call: int
    counted_for: str | None = None

    @property
    def name(self) -> str:
        """The name of its results: the method, or the bound."""
        return self.counted_for or self.bound

    @property
    def num_rows(self) -> int:
        """Numbers per task: counts of successes and of rollouts, or a lower bound at each beta."""
        return len(self.betas) if self.counted_for is None else 2


@dataclasses.dataclass(frozen=True)
class Plan:
    """The work of a sweep.

    Attributes:
        grid: the settings.
        num_seeds: length of the leading axis.
        dtype: type of the computation.
        budgets: pairs (n, m).
        table_size: length of the tables of epsilon, the same for all budgets.
        passes: one per bound and number of rollouts, and one per number of rollouts for "attained".
        masked: whether there is a mask of the returns.
    """

    grid: Grid
    num_seeds: int
    dtype: np.dtype
    budgets: tuple[tuple[int, int], ...]
    table_size: int
    passes: tuple[Pass, ...]
    masked: bool = False

    @property
    def num_certificates(self) -> int:
        """Seeds × budgets × bounds × methods × betas × deltas × thresholds."""
        return self.num_seeds * self.grid.num_settings

    @property
    def num_chunks(self) -> int:
        """Calls that evaluate a bound, or count."""
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


def make_plan(
    shape: tuple[int, ...], dtype: np.dtype, grid: Grid, support: Any, max_bytes: int, *, masked: bool
) -> Plan:
    """The plan for returns of shape [seeds, n, m], or ValueError for settings that do not fit them, or the memory."""
    check_count("max_bytes", max_bytes)
    seeds, tasks, rollouts = shape
    budgets = ((tasks, rollouts),) if grid.budgets is None else grid.budgets
    _check_budgets(budgets, tasks, rollouts, grid)
    _check_levels(budgets, grid, dtype)
    for name in grid.bounds:
        bound_support(BOUNDS[name], support)
    plan = Plan(grid, seeds, dtype, budgets, 1 + max(n for n, _ in budgets), (), masked)
    numbers = dict.fromkeys(m for _, m in budgets)
    passes = (passes(plan, m, max_bytes) for m in numbers for passes in (_passes, _counts))
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
        betas = beta_values(grid, n, dtype)
        check_open_unit("betas", np.where(np.isnan(betas), 0.5, betas), dtype=dtype)


def beta_values(grid: Grid, num_tasks: int, dtype: np.dtype) -> np.ndarray:
    """The betas in use, [methods, betas, deltas], rounded as ``certify`` does; NaN where the method chooses them."""
    deltas = delta_values(grid, dtype)
    values = np.empty((len(grid.methods), len(grid.betas), len(deltas)), dtype)
    for i, method in enumerate(grid.methods):
        for j, beta in enumerate(grid.betas):
            used = METHODS[method].default_beta(deltas, num_tasks) if beta is None else beta
            values[i, j] = np.nan if used is None else used
    return values


def delta_values(grid: Grid, dtype: np.dtype) -> np.ndarray:
    """The deltas as the type holds them, rounded down."""
    return cast_host(np.asarray(grid.deltas), dtype, "down")


def _passes(plan: Plan, m: int, max_bytes: int) -> list[Pass]:
    """One for each bound on the first m rollouts; the bounds share the sizes of their calls."""
    grid, dtype, seeds, table = plan.grid, plan.dtype, plan.num_seeds, plan.table_size
    counting = [method in COUNTING for method in grid.methods]
    if not any(counting):
        return []
    tasks = [n for n, other in plan.budgets if other == m]
    betas = tuple(np.unique([beta_values(grid, n, dtype)[counting] for n in tasks]).tolist())
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


def _counts(plan: Plan, m: int, max_bytes: int) -> list[Pass]:
    """One for each method that goes on from counts of the first m rollouts, which has one bound."""
    methods = [method for method in plan.grid.methods if method in COUNTED]
    if not methods:
        return []
    n, dtype = max(n for n, other in plan.budgets if other == m), plan.dtype

    def counting(seeds: int, tasks: int) -> int:
        return bound_bytes(seeds * tasks, m, 1, dtype)

    chunk = _fit(max_bytes, counting, plan.num_seeds, n, f"one task with {m} rollouts")
    piece, solving = _solving(plan, n, max_bytes)
    most = max(counting(*chunk), solving)
    return [Pass(bound, n, m, (), chunk, piece, most, method) for method in methods for bound in plan.grid.bounds]


def _solving(plan: Plan, n: int, max_bytes: int) -> tuple[tuple[int, int], int]:
    """For how many seeds and thresholds one call solves from counts of n tasks, and its bytes."""
    num_thresholds, dtype = len(plan.grid.thresholds), plan.dtype

    def needed(seeds: int, thresholds: int) -> int:
        return counted_bytes(seeds, thresholds, n, dtype)

    def needed_masked(*_: int) -> int:
        return masked_bytes(num_thresholds, n, dtype)

    if plan.masked:
        # One seed and all thresholds, as ``certify``: the last bit may depend on how the compiler lays them out.
        _fit(max_bytes, needed_masked, 1, 1, f"one seed with a mask, {n} tasks and {num_thresholds} thresholds")
        return (1, num_thresholds), needed_masked()
    piece = _fit(max_bytes, needed, plan.num_seeds, num_thresholds, f"one threshold with counts of {n} tasks")
    return piece, needed(*piece)


def _fit(max_bytes: int, needed: Callable[[int, int], int], rows: int, columns: int, what: str) -> tuple[int, int]:
    """The most rows and columns for which a call fits into memory: whole rows if one fits, else a part of one."""
    if needed(1, 1) > max_bytes:
        raise ValueError(f"max_bytes is {max_bytes}; expected at least {needed(1, 1)}, what {what} needs")
    rows = bisect.bisect(range(1, rows + 1), max_bytes, key=lambda some: needed(some, columns)) or 1
    return rows, bisect.bisect(range(1, columns + 1), max_bytes, key=lambda some: needed(rows, some))
