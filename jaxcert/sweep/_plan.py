"""The plan of a sweep, made before anything is computed: passes over the returns, chunks, certificates, bytes."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import check_count, check_finite, check_open_unit
from jaxcert.bounds._evaluate import bound_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import cast_host
from jaxcert.sweep._grid import Grid
from jaxcert.sweep._memory import bound_size, check_table, lookup_size


def field_types(dtype: np.dtype) -> dict[str, Any]:
    """The arrays of a result and their types."""
    whole = ("num_violations", "num_valid", "status")
    return {"epsilon": dtype, "safety": dtype, **dict.fromkeys(whole, np.int32)}


class Chunk(NamedTuple):
    """Seeds [first_seed, last_seed) and tasks [first_task, last_task), computed in one call."""

    first_seed: int
    last_seed: int
    first_task: int
    last_task: int

    @property
    def seeds(self) -> slice:
        """Its seeds."""
        return slice(self.first_seed, self.last_seed)

    @property
    def tasks(self) -> slice:
        """Its tasks."""
        return slice(self.first_task, self.last_task)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of seeds and of tasks."""
        return self.last_seed - self.first_seed, self.last_task - self.first_task


@dataclasses.dataclass(frozen=True)
class Pass:
    """One bound on the first m rollouts of every task, at all its betas at once.

    Attributes:
        bound: its name.
        num_tasks: the largest number of tasks in any budget with this m.
        num_rollouts: m.
        betas: the distinct failure probabilities, in the type of the computation.
        seeds_per_chunk, tasks_per_chunk: size of one call.
        bytes_per_call: the most that one call is expected to take.
    """

    bound: str
    num_tasks: int
    num_rollouts: int
    betas: tuple[float, ...]
    seeds_per_chunk: int
    tasks_per_chunk: int
    bytes_per_call: int


@dataclasses.dataclass(frozen=True)
class Lookup:
    """From the lower bounds of one budget to its certificates, for one bound and one method at a time.

    Attributes:
        num_tasks: n.
        num_rollouts: m.
        seeds_per_call, thresholds_per_call: size of one call that looks up epsilon.
        bytes_per_call: the most that any call is expected to take.
    """

    num_tasks: int
    num_rollouts: int
    seeds_per_call: int
    thresholds_per_call: int
    bytes_per_call: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The work of a sweep.

    Attributes:
        num_seeds: length of the leading axis.
        dtype: type of the computation.
        passes: one per bound and number of rollouts.
        table_size: length of the tables of epsilon, the same for all budgets.
        lookups: one per budget, in their order.
        num_certificates: seeds × budgets × bounds × methods × betas × deltas × thresholds.
        result_bytes: memory of the result on the host.
        device_bytes: the most that one call is expected to hold on the device.
    """

    num_seeds: int
    dtype: np.dtype
    passes: tuple[Pass, ...]
    table_size: int
    lookups: tuple[Lookup, ...]
    num_certificates: int
    result_bytes: int
    device_bytes: int

    @property
    def budgets(self) -> tuple[tuple[int, int], ...]:
        """Pairs (n, m)."""
        return tuple((each.num_tasks, each.num_rollouts) for each in self.lookups)

    @property
    def largest_pass(self) -> Pass:
        """The first pass among those that read the most returns."""
        return max(self.passes, key=lambda each: each.num_tasks * each.num_rollouts)

    @property
    def num_chunks(self) -> int:
        """Calls that evaluate a bound."""
        return sum(1 for each in self.passes for _ in chunks(each, self.num_seeds))


def make_plan(shape: tuple[int, ...], dtype: np.dtype, grid: Grid, support: Any, max_bytes: int) -> Plan:
    """The plan for returns of shape [seeds, n, m].

    Raises:
        ValueError: for budgets beyond the returns, bounds that need more rollouts or another support, or a
            limit on memory that does not hold one call.
    """
    if not isinstance(grid, Grid):
        raise ValueError(f"grid is {grid!r}; expected a jaxcert.sweep.Grid")
    check_count("max_bytes", max_bytes)
    seeds, tasks, rollouts = shape
    budgets = ((tasks, rollouts),) if grid.budgets is None else grid.budgets
    _check_budgets(budgets, tasks, rollouts, grid)
    check_grid(grid, budgets, dtype)
    for name in grid.bounds:
        bound_support(BOUNDS[name], support)
    table = 1 + max(n for n, _ in budgets)
    passes: list[Pass] = []
    lookups: dict[tuple[int, int], Lookup] = {}
    for m in dict.fromkeys(m for _, m in budgets):
        sizes = [n for n, other in budgets if other == m]
        betas = _betas_in_use(grid, sizes, dtype)
        size = bound_size(seeds, max(sizes), m, len(betas), dtype, max_bytes)
        passes += [Pass(name, max(sizes), m, betas, *size) for name in grid.bounds]
        lookups |= {(n, m): _lookup(n, m, table, seeds, grid, len(betas), dtype, max_bytes) for n in sizes}
    count = seeds * len(budgets) * grid.num_settings // (1 if grid.budgets is None else len(budgets))
    return Plan(
        num_seeds=seeds,
        dtype=dtype,
        passes=tuple(passes),
        table_size=table,
        lookups=tuple(lookups[budget] for budget in budgets),
        num_certificates=count,
        result_bytes=count * sum(np.dtype(each).itemsize for each in field_types(dtype).values()),
        device_bytes=max(each.bytes_per_call for each in (*passes, *lookups.values())),
    )


def _lookup(n: int, m: int, table: int, seeds: int, grid: Grid, num_betas: int, dtype: np.dtype, most: int) -> Lookup:
    pairs = len(grid.betas) * len(grid.deltas)
    solving = check_table(pairs, table, dtype, most)
    per_call, thresholds, looking_up = lookup_size(seeds, len(grid.thresholds), n, num_betas, pairs, table, dtype, most)
    return Lookup(n, m, per_call, thresholds, max(solving, looking_up))


def _betas_in_use(grid: Grid, sizes: list[int], dtype: np.dtype) -> tuple[float, ...]:
    """The distinct betas for budgets with these numbers of tasks, in increasing order."""
    return tuple(sorted({float(beta) for n in sizes for beta in beta_values(grid, n, dtype).ravel()}))


def check_grid(grid: Grid, budgets: tuple[tuple[int, int], ...], dtype: np.dtype) -> None:
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


def chunks(each: Pass, num_seeds: int) -> Iterator[Chunk]:
    """Chunks of one size; the last ones overlap the previous ones, so that nothing is compiled twice."""
    for seed in starts(num_seeds, each.seeds_per_chunk):
        for task in starts(each.num_tasks, each.tasks_per_chunk):
            yield Chunk(seed, seed + each.seeds_per_chunk, task, task + each.tasks_per_chunk)


def starts(length: int, step: int) -> list[int]:
    """Where pieces of one size begin; the last one overlaps the previous one."""
    return [min(start, length - step) for start in range(0, length, step)]


def _check_budgets(budgets: tuple[tuple[int, int], ...], tasks: int, rollouts: int, grid: Grid) -> None:
    for n, m in budgets:
        if n > tasks or m > rollouts:
            raise ValueError(
                f"budgets of the grid holds ({n}, {m}); the returns have {tasks} tasks with {rollouts} rollouts"
            )
        for name in grid.bounds:
            if m < BOUNDS[name].min_rollouts:
                raise ValueError(f"{name} needs at least {BOUNDS[name].min_rollouts} rollouts per task, found {m}")
