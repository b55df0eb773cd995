r"""Which tasks meet all of several requirements, each shown by a bound or a count of its own, and the risk.

A bad task misses some requirement, and passes only if the bound of that one fails: with a probability of at most its
level, whatever the other metrics are. So all requirements together have the largest of their levels, and nothing is
divided among them (an intersection-union test).
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._attained import ATTAINED, counted
from jaxcert.certificates._counting import any_of, at_least, fields_of_solution
from jaxcert.certificates._levels import LEVELS, Enough, by_coins, delta_shares, numbers_for, together, usual_enough
from jaxcert.certificates._method import TAIL, Levels, Method, Solution, solve, table_of
from jaxcert.certificates._soft import SOFT, evidence, fields_of_evidence, least_evidence
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import next_down
from jaxcert.returns._sample import Sample, placed


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Metric:
    """The returns of a metric, the larger the better, and the threshold that they have to reach, a scalar."""

    sample: Sample
    threshold: Any
    of_failures: bool = dataclasses.field(metadata={"static": True})  # whether 0 is better than 1

    @property
    def better(self) -> Sample:
        """The returns, or the failures as successes; within a program."""
        return self.sample.failing if self.of_failures else self.sample


class Tried(NamedTuple):
    """How tasks may pass, each way [ways] with a part of delta; a task has to pass each requirement in the same way."""

    betas: Any  # the levels of bounds; of successes, None where these are the usual ones
    enough: tuple[Enough | None, ...]  # of each metric the successes that are enough, where all tasks have one number
    deltas: Any
    table: Any  # the risks, if they are known
    beta: Any = None  # the level that was given; None where the data choose one


def solved_together(
    method: Method, bounds: tuple[Bound, ...], metrics: list[Metric], beta: Any, delta: Any
) -> dict[str, Any]:
    """The fields of a certificate [...] by a method, at rounded levels; beta is None or ``Levels`` where it chooses."""
    if method is SOFT:
        most = max(int(each.sample.num_rollouts) for each in metrics)
        least = least_evidence(most, np.dtype(delta.dtype))
        return _weighed(*placed((metrics, beta, delta, least))) | {"level": beta, "delta": delta}
    tried = _tried(bounds, metrics, beta, delta)
    fields = _counted(method, bounds, *placed((metrics, tried, delta)))
    given = {} if beta is None or isinstance(beta, Levels) else {"level": beta}
    return fields | given | {"delta": delta}


def _tried(bounds: tuple[Bound, ...], metrics: list[Metric], beta: Any, delta: Any) -> Tried:
    """One way at a given level; the three of "auto"; or the four of successes, at their shares of delta."""
    n, size = int(metrics[0].sample.num_tasks), max(each.sample.tasks[-1] for each in metrics)

    def table(deltas: Any) -> Any:
        return table_of(TAIL, n, size, deltas) if _same_level(bounds, metrics) else None

    if isinstance(beta, Levels):
        enough = tuple(_enough(bound, each, beta.betas) for bound, each in zip(bounds, metrics, strict=True))
        return Tried(beta.betas, enough, beta.delta_each, table(beta.delta_each))
    enough = tuple(_enough(bound, each, beta) for bound, each in zip(bounds, metrics, strict=True))
    if beta is not None:
        deltas = delta.reshape(1)
        return Tried(beta.reshape(1), enough, deltas, table(deltas), beta)
    most = max(float(each.sample.num_rollouts) for each in metrics)
    shares, own = np.asarray(delta_shares(most), delta.dtype), np.arange(len(LEVELS), dtype=delta.dtype)
    rows = [own if each is None else each.successes[0].astype(delta.dtype) for each in enough]
    # Ways with the same numbers of successes, and without a bound, are one.
    xp = np if all(isinstance(row, np.ndarray) for row in rows) else jnp
    deltas = delta * together(xp.stack(rows), shares)
    return Tried(np.asarray(LEVELS, delta.dtype), enough, deltas, table(deltas))


def _enough(bound: Bound, metric: Metric, beta: Any) -> Enough | None:
    """The numbers of successes that are enough, [1, ways], where every task has as many trials."""
    if not (bound.binary and metric.sample.is_full):
        return None
    m = metric.sample.num_rollouts.astype(metric.threshold.dtype)
    return usual_enough(m, metric.threshold.reshape(1), beta)


def _same_level(bounds: tuple[Bound, ...], metrics: list[Metric]) -> bool:
    """Whether all tasks have the same levels: unless their numbers of trials differ, of successes."""
    return all(each.sample.is_full or not bound.binary for bound, each in zip(bounds, metrics, strict=True))


# --- within a program -----------------------------------------------------------------------------------------------


class Passed(NamedTuple):
    """Which tasks pass a requirement in each way, and the level at which one that misses it does, [..., n, ways].

    ``bad_task``: which tasks have invalid returns, [..., n].
    """

    passed: jax.Array
    level: jax.Array
    bad_task: jax.Array


@functools.partial(quickly, static_argnums=(0, 1))
def _counted(
    method: Method, bounds: tuple[Bound, ...], metrics: list[Metric], tried: Tried, delta: jax.Array
) -> dict[str, jax.Array]:
    n, dtype = metrics[0].sample.num_tasks, delta.dtype
    size = max(each.sample.tasks[-1] for each in metrics)
    chosen = method is ATTAINED and tried.beta is None
    each = [
        _to_size(_passed(bound, metric, enough, tried, usual=chosen and bound.binary), size, dtype)
        for bound, metric, enough in zip(bounds, metrics, tried.enough, strict=True)
    ]
    there = in_front(each[0].bad_task, n)
    passed = functools.reduce(jnp.logical_and, (one.passed for one in each))
    level = functools.reduce(jnp.maximum, (one.level for one in each))
    violations, epsilon, level = _risks(passed, level, there, n, tried, delta, same_level=_same_level(bounds, metrics))
    missed = jnp.stack([~one.passed & there[..., None] for one in each], axis=-3)  # [..., r, n, ways]
    best = jnp.argmin(epsilon, axis=-1)[..., None]
    missed = jnp.take_along_axis(missed, best[..., None, None], axis=-1)[..., 0]
    violations, epsilon, level = at_least(epsilon, (violations, epsilon, level))
    level = jnp.minimum(level, next_down(jnp.ones_like(level)))
    bad = functools.reduce(jnp.logical_or, (any_of(one.bad_task, n) for one in each))
    solution = Solution(epsilon[..., None], (n - violations)[..., None], jnp.ones((*epsilon.shape, 1), bool))
    asked = level[..., None] if tried.beta is None else tried.beta  # an invalid one fails closed
    row = method, violations[..., None], solution, _row(metrics), asked, delta, n, bad
    return _as_one(fields_of_solution(*row)) | {"level": level, "missed": missed}


def _risks(passed, level, there, n, tried: Tried, delta, *, same_level: bool) -> tuple[jax.Array, ...]:
    """Violations, risks and the largest level of a task, each [..., ways]."""
    passed, valid = passed | ~there[..., None], (delta > 0) & (delta < 1)
    violations = passed.shape[-2] - jnp.sum(passed, axis=-2, dtype=jnp.int32)
    worst = jnp.broadcast_to(jnp.max(jnp.where(there[..., None], level, 0), axis=-2), violations.shape)
    deltas = jnp.where(valid, tried.deltas, jnp.nan)
    if not same_level:
        return violations, by_coins(passed, jnp.where(there[..., None], level, 1), deltas), worst
    ways = np.arange(passed.shape[-1], dtype=np.int32)
    found = solve(TAIL, violations, n, worst, deltas, tried.table, size=passed.shape[-2], row=ways)
    return violations, found.epsilon, worst


def _passed(bound: Bound, metric: Metric, enough: Enough | None, tried: Tried, *, usual: bool) -> Passed:
    """By lower bounds at the levels that are tried, or by numbers of successes at these, or near the usual ones."""
    sample, threshold = metric.better, metric.threshold
    if not bound.binary:
        betas = jnp.asarray(tried.betas, sample.dtype)
        # A task passes at a level only if it passes at every larger one, too, however the bounds are rounded.
        lower = jax.lax.cummin(task_bounds(bound, sample, betas, each=True), axis=0, reverse=True)
        passed = jnp.moveaxis(lower >= threshold, 0, -1)
        return Passed(passed, jnp.broadcast_to(betas, passed.shape), jnp.isneginf(lower[0]))
    found = counted(sample)
    if enough is None:
        thresholds = jnp.broadcast_to(threshold, found.num_rollouts.shape)
        enough, _ = numbers_for(None if usual else tried.betas)(found.num_rollouts, thresholds)
    shape = (*found.successes.shape, enough.successes.shape[-1])
    # At levels of which the data choose one, what each is calibrated for counts, and not the smaller one it attains.
    each_level = enough.level if usual or tried.beta is not None else tried.betas
    least, level = jnp.broadcast_to(enough.successes, shape), jnp.broadcast_to(each_level, shape)
    return Passed(found.successes[..., None] >= least, level, found.successes < 0)


def _to_size(found: Passed, size: int, dtype: np.dtype) -> Passed:
    """With room for so many tasks, and levels of the type; a task that is not there passes."""
    more = size - found.bad_task.shape[-1]

    def padded(each: jax.Array, axis: int, value: Any) -> jax.Array:
        widths = [(0, 0)] * each.ndim
        widths[axis] = (0, more)
        return jnp.pad(each, widths, constant_values=value)

    level = padded(found.level.astype(dtype), -2, 0)
    return Passed(padded(found.passed, -2, True), level, padded(found.bad_task, -1, False))


@jax.jit
def _weighed(metrics: list[Metric], alpha: jax.Array, delta: jax.Array, least: jax.Array) -> dict[str, jax.Array]:
    """From the evidence against each requirement: the smallest is the evidence of the task."""
    size, n = max(each.sample.tasks[-1] for each in metrics), metrics[0].sample.num_tasks
    wealth, valid = [], []
    for metric in metrics:
        found, known = evidence(metric.better, metric.threshold.reshape(1))
        widths = [(0, 0)] * (known.ndim - 1) + [(0, size - known.shape[-1])]
        wealth.append(jnp.pad(found[..., 0].astype(delta.dtype), widths))
        valid.append(jnp.pad(known, widths))
    smallest, all_valid = functools.reduce(jnp.minimum, wealth), functools.reduce(jnp.logical_and, valid)
    there = in_front(all_valid, n)
    settings = _row(metrics), alpha, delta, least, there
    fields = fields_of_evidence(SOFT, smallest[..., None], all_valid, jnp.zeros_like(delta), *settings)
    missed = jnp.stack([~(each > 1) & there for each in wealth], axis=-2)
    return _as_one({name: fields[name] for name in fields if name != "lower_bounds"}) | {"missed": missed}


def _row(metrics: list[Metric]) -> jax.Array:
    """A number in place of thresholds [1]: NaN if one of them is not finite."""
    finite = functools.reduce(jnp.logical_and, (jnp.isfinite(each.threshold) for each in metrics))
    return jnp.where(finite, 0.0, jnp.nan).reshape(1)


def _as_one(fields: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return {name: value[..., 0] for name, value in fields.items()}
