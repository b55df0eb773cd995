"""The cells of a sweep, and how one is found."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.bounds._evaluate import joined
from jaxcert.certificates._certificate import Certificate, Status
from jaxcert.certificates._compiled import certify_derived, count_violations, status_of
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._registry import COUNTED, COUNTING, METHODS
from jaxcert.numerics._rounding import cast_host, complement_down
from jaxcert.sweep._grid import Grid
from jaxcert.sweep._plan import Pass, Plan, beta_values, delta_values, field_types, tiles

if TYPE_CHECKING:
    import pandas
    import xarray


class SeedStatistics(NamedTuple):
    """Mean and standard deviation over seeds, [budgets, bounds, methods, betas, deltas, thresholds].

    They describe how certificates vary; a mean of certified safeties is itself no certificate.

    Attributes:
        mean: over seeds.
        std: square root of the unbiased variance (divisor seeds - 1); NaN for one seed.
    """

    mean: np.ndarray
    std: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """Certificates of a whole grid, on the host.

    Every array has the axes (seed, budget, bound, method, beta, delta, threshold), in the order of the grid.

    Attributes:
        grid: the settings.
        support: (a, b).
        budgets: pairs (n, m) of the budget axis.
        beta: the failure probabilities in use, [budgets, methods, betas, deltas]: the grid's, or the defaults; NaN for
            "attained" by default, which has a level for each threshold and seed.
        epsilon: certified risk.
        safety: certified P[J >= B] = 1 - epsilon, rounded down.
        num_violations: k.
        num_valid: K, as in ``Certificate``.
        status: codes of ``jaxcert.Status``.
    """

    grid: Grid
    support: tuple[float, float]
    budgets: tuple[tuple[int, int], ...]
    beta: np.ndarray
    epsilon: np.ndarray
    safety: np.ndarray
    num_violations: np.ndarray
    num_valid: np.ndarray
    status: np.ndarray

    def __repr__(self) -> str:
        axes = zip(self.coordinates(), self.epsilon.shape, strict=True)
        sizes = ", ".join(f"{name}: {size}" for name, size in axes)
        certified = float(np.mean(self.status == Status.CERTIFIED)) if self.status.size else 0.0
        return f"SweepResult({self.epsilon.size} certificates, {sizes}; {100 * certified:.3g} % certified)"

    def over_seeds(self, field: str = "safety") -> SeedStatistics:
        """Mean and standard deviation of one array over seeds, computed in float64."""
        if field not in field_types(self.epsilon.dtype):
            raise ValueError(f"field is {field!r}; expected {', '.join(field_types(self.epsilon.dtype))}")
        values = getattr(self, field).astype(np.float64)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)
        return SeedStatistics(values.mean(axis=0), spread)

    def coordinates(self) -> dict[str, np.ndarray]:
        """The labels of each axis; a default beta is NaN there, a budget is written "n x m"."""
        return {
            "seed": np.arange(self.epsilon.shape[0]),
            "budget": np.asarray([f"{n}x{m}" for n, m in self.budgets]),
            "bound": np.asarray(self.grid.bounds),
            "method": np.asarray(self.grid.methods),
            "beta": np.asarray([np.nan if beta is None else beta for beta in self.grid.betas]),
            "delta": np.asarray(self.grid.deltas),
            "threshold": np.asarray(self.grid.thresholds),
        }

    def to_xarray(self) -> "xarray.Dataset":
        """The arrays with their labels; needs the extra "io".

        Select methods by a mapping, ``data.sel({"method": "scenario"})``, since ``sel(method=...)`` is an option of
        xarray.
        """
        xarray = import_extra("xarray", "io")
        axes = tuple(self.coordinates())
        variables: dict[str, Any] = {name: (axes, getattr(self, name)) for name in field_types(self.epsilon.dtype)}
        variables["beta_used"] = (("budget", "method", "beta", "delta"), self.beta)
        sizes = np.asarray(self.budgets)
        labels = {**self.coordinates(), "num_tasks": ("budget", sizes[:, 0]), "num_rollouts": ("budget", sizes[:, 1])}
        return xarray.Dataset(variables, labels, attrs={"support": list(self.support)})

    def to_frame(self) -> "pandas.DataFrame":
        """One row per certificate, seeds slowest and thresholds fastest; needs the extra "io".

        ``beta`` is the grid's value, or the default in use, NaN for "attained"; bound, method and status are
        categories.
        """
        pandas = import_extra("pandas", "io")
        columns: dict[str, Any] = self.columns()
        for name, names in self.categories().items():
            columns[name] = pandas.Categorical.from_codes(columns[name], list(names))
        return pandas.DataFrame(columns)

    def categories(self) -> dict[str, tuple[str, ...]]:
        """What the codes in ``columns`` stand for."""
        status = tuple(each.name.lower() for each in sorted(Status, key=lambda each: each.value))
        return {"bound": self.grid.bounds, "method": self.grid.methods, "status": status}

    def columns(self, seeds: slice = slice(None)) -> dict[str, np.ndarray]:
        """The rows of ``to_frame``, for some seeds, with codes for the categories."""
        shape = self.epsilon[seeds].shape
        sizes = np.asarray(self.budgets, np.int32)
        seed, budget, bound, method, beta, delta, threshold = np.ogrid[tuple(slice(size) for size in shape)]
        given = self.coordinates()["beta"][beta]
        used = self.beta.astype(str).astype(np.float64)  # 0.05 where single precision holds 0.05000000074505806
        columns = {
            "seed": np.arange(len(self.epsilon), dtype=np.int32)[seeds][seed],
            "num_tasks": sizes[budget, 0],
            "num_rollouts": sizes[budget, 1],
            "bound": bound.astype(np.int8),
            "method": method.astype(np.int8),
            "beta": np.where(np.isnan(given), used[budget, method, beta, delta], given),
            "delta": np.asarray(self.grid.deltas)[delta],
            "threshold": np.asarray(self.grid.thresholds)[threshold],
            **{name: getattr(self, name)[seeds] for name in field_types(self.epsilon.dtype)},
        }
        columns["status"] = columns["status"].astype(np.int8)
        return {name: np.broadcast_to(column, shape).ravel() for name, column in columns.items()}


def allocate(plan: Plan, support: Any) -> SweepResult:
    """An empty result."""
    grid = plan.grid
    axes = (grid.bounds, grid.methods, grid.betas, grid.deltas, grid.thresholds)
    shape = (plan.num_seeds, len(plan.budgets), *map(len, axes))
    arrays = {name: np.empty(shape, dtype) for name, dtype in field_types(plan.dtype).items()}
    beta = np.stack([beta_values(grid, n, plan.dtype) for n, _ in plan.budgets])
    return SweepResult(grid, (float(support[0]), float(support[1])), plan.budgets, beta, **arrays)


def fill_counted(result: SweepResult, plan: Plan, each: Pass, budget: int, counts: np.ndarray) -> None:
    """Solve for the certificates of a budget from counts [2, seeds, n] of its tasks, and copy them into the result.

    Every piece goes through the steps of ``certify``, with seeds as a leading axis, for each beta and delta.
    """
    grid, index = plan.grid, plan.grid.methods.index(each.name)
    place = (budget, grid.bounds.index(each.bound), index)
    deltas, thresholds = delta_values(grid, plan.dtype), cast_host(np.asarray(grid.thresholds), plan.dtype, "up")
    for seeds, some in tiles((plan.num_seeds, len(thresholds)), each.piece):
        piece = jax.device_put((_alone(counts[:, seeds], plan.masked), thresholds[some]))
        for beta, delta in itertools.product(range(len(grid.betas)), range(len(deltas))):
            level = None if grid.betas[beta] is None else result.beta[budget, index, beta, delta]
            found = _certified(plan, each, *piece, *jax.device_put((level, deltas[delta])))
            for name in field_types(plan.dtype):
                getattr(result, name)[(seeds, *place, beta, delta, some)] = getattr(found, name)


def _alone(counts: np.ndarray, masked: bool) -> np.ndarray:
    """With a mask there is one seed, whose axis is dropped: the program is then the one of ``certify``, to the bit."""
    return counts[:, 0] if masked else counts


def _certified(plan: Plan, each: Pass, counts: jax.Array, thresholds: jax.Array, beta: Any, delta: Any) -> Certificate:
    """Certificates [seeds, t], or [t] without an axis of seeds."""
    derived = COUNTED[each.name].solve(counts, None if plan.masked else each.num_rollouts, thresholds, beta, delta)
    return certify_derived(each.bound, METHODS[each.name], derived, thresholds, beta, delta)


_Table = Callable[[int, int], Solution]


def certificates(plan: Plan, support: Any, bounds: Iterable[np.ndarray]) -> SweepResult:
    """All certificates, from the lower bounds [betas, seeds, tasks] of each pass, or its counts."""
    result = allocate(plan, support)
    table = functools.cache(functools.partial(_table, plan))  # shared by the bounds
    for each, lower in zip(plan.passes, bounds, strict=True):
        for budget, (n, m) in enumerate(plan.budgets):
            if m == each.num_rollouts and each.counted_for is not None:
                fill_counted(result, plan, each, budget, lower[..., :n])
            elif m == each.num_rollouts:
                _fill_all(result, plan, each, budget, lower[..., :n], table)
    return result


def _fill_all(result: SweepResult, plan: Plan, each: Pass, budget: int, lower: np.ndarray, table: _Table) -> None:
    """The certificates of a budget and a bound, by all methods that count its lower bounds."""
    for index, name in enumerate(plan.grid.methods):
        if name in COUNTING:
            _fill(result, plan, each, budget, index, lower, table(index, lower.shape[-1]))


def _table(plan: Plan, index: int, n: int) -> Solution:
    """The table of the method at that index for n tasks; kept on the host, since there may be one for each budget."""
    betas = beta_values(plan.grid, n, plan.dtype)[index]
    deltas, method = delta_values(plan.grid, plan.dtype), METHODS[plan.grid.methods[index]]
    return jax.device_get(solve_tables(method, plan.table_size, plan.dtype.type(n), betas, deltas))


def _fill(
    result: SweepResult, plan: Plan, each: Pass, budget: int, index: int, lower: np.ndarray, table: Solution
) -> None:
    """Look up the certificates of a budget, bound and method, given by its index, and copy them into the result."""
    grid, betas = plan.grid, result.beta[budget, index]
    place = (budget, grid.bounds.index(each.bound), index)
    method, chosen = METHODS[grid.methods[index]], np.searchsorted(each.betas, betas)
    deltas, thresholds = delta_values(grid, plan.dtype), cast_host(np.asarray(grid.thresholds), plan.dtype, "up")
    for seeds, some in tiles((plan.num_seeds, len(thresholds)), each.piece):
        cells = look_up(method, lower[:, seeds], chosen, table, betas, deltas, thresholds[some])
        for name, values in cells.items():
            getattr(result, name)[(seeds, *place, ..., some)] = values


@functools.partial(jax.jit, static_argnums=(0, 1))
def solve_tables(method: Method, size: int, n, betas, deltas) -> Solution:
    """Epsilon for k = 0, ..., n, [betas, deltas, size], once for all seeds, bounds and thresholds.

    ``betas`` are [betas, deltas], since the defaults depend on delta; ``deltas`` are [deltas].
    The length does not depend on n, so that other numbers of tasks do not recompile: beyond n, the last value repeats.
    """
    k = jnp.minimum(jnp.arange(size, dtype=betas.dtype), n)
    return method.solve(*jnp.broadcast_arrays(k, jnp.asarray(n, k.dtype), betas[..., None], deltas[..., None]))


@functools.partial(jax.jit, static_argnums=0)
def look_up(method: Method, lower, chosen, table: Solution, betas, deltas, thresholds) -> dict[str, jax.Array]:
    """Count violations and look up epsilon: the fields of certificates, each [seeds, betas, deltas, thresholds].

    ``lower`` holds the bounds at all distinct betas, [distinct, seeds, n]; ``chosen``, [betas, deltas], says which of
    them belongs to each of ``betas``. The other arguments are as in ``solve_tables``, and its result.
    """
    n, lower = lower.shape[-1], joined(lower)
    violations = count_violations(lower, jnp.broadcast_to(thresholds, (*lower.shape[:-1], len(thresholds))))
    invalid = jnp.any(jnp.isneginf(lower), axis=-1)

    def one(index, row: Solution, beta, delta) -> dict[str, jax.Array]:
        k = violations[index]
        epsilon, num_valid, feasible = (column[k] for column in row)
        status = status_of(method, epsilon, feasible, invalid[index][:, None], beta, delta, n)
        counts = {"num_violations": k, "num_valid": num_valid}
        return {"epsilon": epsilon, "safety": complement_down(epsilon), **counts, "status": status}

    cells = jax.vmap(jax.vmap(one), (0, 0, 0, None))(chosen, table, betas, deltas)
    return jax.tree.map(lambda a: jnp.moveaxis(a, 2, 0), cells)
