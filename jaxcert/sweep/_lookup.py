"""Certificates of a sweep looked up in tables by the number of violations, or of successes."""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._evaluate import joined
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_derived, count_violations, status_of
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._registry import COUNTED, COUNTING, METHODS
from jaxcert.numerics._rounding import cast_host, complement_down
from jaxcert.sweep._plan import Pass, Plan, beta_values, delta_values, field_types, tiles
from jaxcert.sweep._result import SweepResult, allocate


def fill_counted(result: SweepResult, plan: Plan, each: Pass, budget: int, counts: np.ndarray) -> None:
    """Solve for the certificates of a budget from counts [2, seeds, n] of its tasks, and copy them into the result.

    Every piece goes through the steps of ``certify``, with seeds as a leading axis, for each beta and delta.
    """
    grid, method = plan.grid, plan.grid.methods.index(each.name)
    place = (budget, grid.bounds.index(each.bound), method)
    deltas, thresholds = delta_values(grid, plan.dtype), cast_host(np.asarray(grid.thresholds), plan.dtype, "up")
    for seeds, some in tiles((plan.num_seeds, len(thresholds)), each.piece):
        piece = jax.device_put((_alone(counts[:, seeds], plan.masked), thresholds[some]))
        for beta, delta in itertools.product(range(len(grid.betas)), range(len(deltas))):
            level = None if grid.betas[beta] is None else result.beta[budget, method, beta, delta]
            found = _certified(plan, each, *piece, *jax.device_put((level, deltas[delta])))
            for name in field_types(plan.dtype):
                getattr(result, name)[(seeds, *place, beta, delta, some)] = getattr(found, name)


def _alone(counts: np.ndarray, masked: bool) -> np.ndarray:
    """With a mask there is one seed, whose axis is dropped: the program is that of ``certify`` to the last bit."""
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
    for index, method in enumerate(plan.grid.methods):
        if method in COUNTING:
            _fill(result, plan, each, budget, index, lower, table(index, lower.shape[-1]))


def _table(plan: Plan, method: int, n: int) -> Solution:
    """The table of a method for n tasks; kept on the host, since there may be one for each budget."""
    betas = beta_values(plan.grid, n, plan.dtype)[method]
    deltas, described = delta_values(plan.grid, plan.dtype), METHODS[plan.grid.methods[method]]
    return jax.device_get(solve_tables(described, plan.table_size, plan.dtype.type(n), betas, deltas))


def _fill(
    result: SweepResult, plan: Plan, each: Pass, budget: int, method: int, lower: np.ndarray, table: Solution
) -> None:
    """Look up the certificates of a budget, bound and method, and copy them into the result."""
    grid, betas = plan.grid, result.beta[budget, method]
    place = (budget, grid.bounds.index(each.bound), method)
    described, chosen = METHODS[grid.methods[method]], np.searchsorted(each.betas, betas)
    deltas, thresholds = delta_values(grid, plan.dtype), cast_host(np.asarray(grid.thresholds), plan.dtype, "up")
    for seeds, some in tiles((plan.num_seeds, len(thresholds)), each.piece):
        cells = look_up(described, lower[:, seeds], chosen, table, betas, deltas, thresholds[some])
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
    them belongs to each of ``betas``. The other arguments are those of ``solve_tables`` and its result.
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
