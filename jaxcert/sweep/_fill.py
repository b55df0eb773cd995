"""The cells of a sweep, from lower bounds or from counts of successes."""

import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, rollouts_of
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON, successes_of
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import ATTAINED, Successes, fields_of_successes, usual_tried
from jaxcert.certificates._counting import fields_of_bounds
from jaxcert.certificates._method import table_of
from jaxcert.certificates._registry import COUNTING, METHODS
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


def fill(result: SweepResult, slices: Slices, each: Pass, *, masked: bool) -> None:
    """The cells of a pass: the returns are read once, and each cell is made of one or two numbers for each task."""
    grid, dtype, place = result.grid, result.epsilon.dtype, result.grid.bounds.index(each.bound)
    thresholds = cast_host(np.asarray(grid.thresholds), dtype, "up")
    deltas = cast_host(np.asarray(grid.deltas), dtype, "down")
    if each.betas is None:
        found = slices.numbers(CLOPPER_PEARSON.needs, each.num_rollouts, _counts, 2)
    else:
        bound = BOUNDS[each.bound]
        run = functools.partial(_bounds_at, bound, betas=placed(each.betas))
        found = slices.numbers(bound.needs, each.num_rollouts, run, len(each.betas))
    methods = [i for i, name in enumerate(grid.methods) if (name in COUNTING) == (each.betas is not None)]
    for (budget, n), index, (i, given), (j, delta) in itertools.product(
        each.budgets.items(), methods, enumerate(grid.betas), enumerate(deltas)
    ):
        beta, method = result.beta[budget, index, i, j], METHODS[grid.methods[index]]
        if each.betas is None:
            m = None if masked else each.num_rollouts
            fields = _of_successes(
                _usable(found[0, :, :n], -1), found[1, :, :n], m, thresholds, None if given is None else beta, delta
            )
        else:
            lower = _usable(found[np.searchsorted(each.betas, beta), :, :n], -np.inf)
            table = table_of(method.tail, n, n, delta, beta)  # type: ignore[arg-type]
            fields = _of_bounds(method, *placed((lower, np.int32(n), thresholds, beta, delta, table)))
        for name in FIELDS:
            getattr(result, name)[:, budget, place, index, i, j] = fields[name]


_of_bounds = jax.jit(fields_of_bounds, static_argnums=0)


def _usable(numbers: np.ndarray, none: float) -> np.ndarray:
    """The numbers of tasks [seeds, n]; ``none`` for all, if a return of one of them refutes the support."""
    return np.where(np.isnan(numbers).any(axis=-1, keepdims=True), none, numbers)


@functools.partial(jax.jit, static_argnums=0)
def _bounds_at(bound: Bound, sample: Sample, betas: jax.Array) -> jax.Array:
    """The bound at every beta, [betas, ..., n]; NaN where a return refutes the support."""
    return jax.vmap(lambda beta: evaluate(bound, sample, beta))(betas)


@jax.jit
def _counts(sample: Sample) -> jax.Array:
    """Successes and rollouts of each task, [2, ..., n]: -1 in an invalid one, NaN in one that refutes the support."""
    data: Any = rollouts_of(sample, binary=True)
    count, num_rollouts = successes_of(data)
    count = jnp.where(data.refuted, jnp.nan, jnp.where(data.valid, count, -1))
    return jnp.stack([count, num_rollouts])


def _of_successes(
    successes: np.ndarray, num_rollouts: np.ndarray, m: int | None, thresholds: np.ndarray, beta: Any, delta: Any
) -> dict[str, Any]:
    """The fields of certificates [seeds, t]; ``m``: of every task, or None."""
    n, held = successes.shape[-1], Successes(successes, num_rollouts)  # type: ignore[arg-type]
    tried = None if m is None else usual_tried(np.asarray(m, delta.dtype), thresholds, beta, delta, n, n)
    return _of_counts(*placed((held, np.int32(n), thresholds, beta, delta, tried)))


_of_counts = jax.jit(functools.partial(fields_of_successes, ATTAINED))
