"""The cells of a sweep, from lower bounds or from counts of successes."""

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, rollouts_of, usable
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON, successes_of
from jaxcert.bounds._evaluate import evaluate, joined
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import ATTAINED, Successes, of_equal, of_unequal
from jaxcert.certificates._counting import any_neginf, count_violations, fields_of_solution
from jaxcert.certificates._levels import delta_of_sets, usual_enough
from jaxcert.certificates._method import Method
from jaxcert.certificates._registry import COUNTING, METHODS
from jaxcert.certificates._solve import solve, table_of
from jaxcert.numerics._rounding import cast_host
from jaxcert.returns._sample import Sample, placed
from jaxcert.sweep._result import FIELDS, SweepResult
from jaxcert.sweep._slices import Slices


class Pass(NamedTuple):
    """What is computed from the first m rollouts of each task, for some of the budgets.

    Attributes:
        bound: its name.
        num_rollouts: m.
        budgets: n, by the places of these budgets.
        betas: at which the bound is computed; None to count successes.
    """

    bound: str
    num_rollouts: int
    budgets: Mapping[int, int]
    betas: np.ndarray | None

    @property
    def num_rows(self) -> int:
        """Numbers for each task."""
        return 2 if self.betas is None else len(self.betas)

    @property
    def fill(self) -> Callable[..., None]:
        """What fills the cells."""
        return _fill_counted if self.betas is None else _fill_from_bounds


def passes_of(result: SweepResult) -> list[Pass]:
    """One for each bound and number of rollouts, for all methods that count it; and one for those of successes."""
    grid, passes = result.grid, []
    counting = [name in COUNTING for name in grid.methods]
    for m in dict.fromkeys(m for _, m in result.budgets):
        budgets = {i: n for i, (n, each) in enumerate(result.budgets) if each == m}
        betas = np.unique(result.beta[list(budgets)][:, counting])
        passes += [Pass(name, m, budgets, betas) for name in grid.bounds if any(counting)]
        passes += [Pass(name, m, budgets, None) for name in grid.bounds if not all(counting)]
    return passes


def _fill_from_bounds(result: SweepResult, slices: Slices, each: Pass, *, masked: bool) -> None:
    """The certificates of a bound, by all methods that count lower bounds."""
    counting = [i for i, method in enumerate(result.grid.methods) if method in COUNTING]
    bound, betas, place = BOUNDS[each.bound], each.betas, result.grid.bounds.index(each.bound)
    assert betas is not None
    run = functools.partial(_bounds_at, bound, betas=placed(betas))
    lower = slices.numbers(bound.needs, each.num_rollouts, run, len(betas))
    for (budget, n), index in itertools.product(each.budgets.items(), counting):
        method = METHODS[result.grid.methods[index]]
        for i, j in np.ndindex(result.beta[budget, index].shape):
            beta, delta = result.beta[budget, index, i, j], _deltas(result)[j]
            rows = lower[np.searchsorted(betas, beta), :, :n]
            table = table_of(method.tail, n, n, delta, beta)  # type: ignore[arg-type]
            fields = _looked_up(method, *placed((rows, _thresholds(result), beta, delta, table)))
            _put(result, (slice(None), budget, place, index, i, j), fields)


@functools.partial(jax.jit, static_argnums=0)
def _bounds_at(bound: Bound, sample: Sample, betas: jax.Array) -> jax.Array:
    """The bound at every beta, [betas, ..., n]; NaN where a return refutes the support."""
    return jax.vmap(lambda beta: evaluate(bound, sample, beta))(betas)


@functools.partial(jax.jit, static_argnums=0)
def _looked_up(method: Method, lower, thresholds, beta, delta, table) -> dict[str, jax.Array]:
    """The fields of certificates [seeds, t] from bounds [seeds, n]."""
    lower, n = joined(lower), lower.shape[-1]
    violations = count_violations(lower, thresholds)
    solution = solve(method.tail, violations, n, beta, delta, table, size=n)  # type: ignore[arg-type]
    return fields_of_solution(method, violations, solution, thresholds, beta, delta, n, any_neginf(lower, n))


def _fill_counted(result: SweepResult, slices: Slices, each: Pass, *, masked: bool) -> None:
    """The certificates of successes, at the levels that numbers of them attain."""
    m = each.num_rollouts
    counts = slices.numbers(CLOPPER_PEARSON.needs, m, _counts, 2)
    index, place = result.grid.methods.index(ATTAINED.name), result.grid.bounds.index(each.bound)
    for (budget, n), (i, given), (j, delta) in itertools.product(
        each.budgets.items(), enumerate(result.grid.betas), enumerate(_deltas(result))
    ):
        beta = None if given is None else result.beta[budget, index, i, j]
        arguments: tuple[Any, ...] = counts[..., :n], _thresholds(result), beta, delta
        if masked:
            fields = _of_unequal(*placed(arguments))
        else:
            rollouts = np.asarray(m, delta.dtype)
            deltas = delta_of_sets(rollouts, delta, beta)
            enough = usual_enough(rollouts, _thresholds(result), beta)
            table = table_of(ATTAINED.tail, n, n, deltas)  # type: ignore[arg-type]
            fields = _of_equal(*placed((*arguments, enough, deltas, table)))
        _put(result, (slice(None), budget, place, index, i, j), fields)


@jax.jit
def _counts(sample: Sample) -> jax.Array:
    """Successes and rollouts of each task, [2, ..., n]: -1 in an invalid one, NaN in one that refutes the support."""
    data: Any = rollouts_of(sample, binary=True)
    count, num_rollouts = successes_of(data)
    count = jnp.where(data.refuted, jnp.nan, jnp.where(data.valid, count, -1))
    return jnp.stack([count, num_rollouts])


def _successes(counts: jax.Array) -> Successes:
    count, num_rollouts = counts
    return Successes(jnp.where(usable(count >= 0, jnp.isnan(count)), count, -1), num_rollouts)


@jax.jit
def _of_equal(counts, thresholds, beta, delta, enough, deltas, table) -> dict[str, Any]:
    n = counts.shape[-1]
    return of_equal(ATTAINED, _successes(counts), n, thresholds, beta, delta, enough, deltas, table)


@jax.jit
def _of_unequal(counts, thresholds, beta, delta) -> dict[str, Any]:
    return of_unequal(ATTAINED, _successes(counts), counts.shape[-1], thresholds, beta, delta)


def _deltas(result: SweepResult) -> np.ndarray:
    return cast_host(np.asarray(result.grid.deltas), result.epsilon.dtype, "down")


def _thresholds(result: SweepResult) -> np.ndarray:
    return cast_host(np.asarray(result.grid.thresholds), result.epsilon.dtype, "up")


def _put(result: SweepResult, place: tuple[Any, ...], fields: Mapping[str, Any]) -> None:
    for name in FIELDS:
        getattr(result, name)[place] = fields[name]
