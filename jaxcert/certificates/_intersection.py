r"""Find the tasks that meet several requirements, each shown by its own bound or count, and the risk.

A bad task misses some requirement, and passes only if the bound of that one fails: with a probability of at most its
level, whatever the other metrics are. So the level of all requirements together is the largest of their levels, which
are not divided (an intersection-union test).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import task_bounds
from jaxcert.certificates._anytime import EVERY_MOMENT, at_every_moment
from jaxcert.certificates._attained import Tried, counted
from jaxcert.certificates._averages import Solve, by_weights, ratios_of
from jaxcert.certificates._counting import any_of, best_of, fields_of_best, where_smallest
from jaxcert.certificates._levels import (
    LISTED_TASKS,
    NEW_TASKS,
    WEIGHTED_TASKS,
    Numbers,
    UsualLevels,
    by_coins,
    numbers_for,
    together,
    too_few,
)
from jaxcert.certificates._method import Levels, Method, Tail, solve, table_of
from jaxcert.certificates._required_metrics import Metric
from jaxcert.certificates._soft import SOFT, evidence, fields_of_evidence, least_evidence
from jaxcert.certificates._suite_counts import Passes, allowances
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import in_unit, next_up
from jaxcert.returns._sample import Sample, placed

# --- count, then solve ------------------------------------------------------------------------------------------------


def solved_together(
    method: Method, metrics: list[Metric], beta: Any, delta: Any, *, listed: bool = False
) -> dict[str, Any]:
    """The fields of a certificate [...] by a method, at rounded levels; beta is None or ``Levels`` where it chooses.

    ``listed``: whether it is about the tasks of the list. The first metric holds the weights of the tasks, if any.
    """
    if method is SOFT:
        most = max(int(each.sample.num_rollouts) for each in metrics)
        least = least_evidence(most, np.dtype(delta.dtype))
        return _weighed(*placed((metrics, beta, delta, least))) | {"level": beta}
    given = None if isinstance(beta, Levels) else beta
    fields = _counted(method, listed, *placed((metrics, _tried(method, metrics, beta, delta, listed), given, delta)))
    return fields | ({} if given is None else {"level": beta})


def _tried(method: Method, metrics: list[Metric], beta: Any, delta: Any, listed: bool) -> Tried:
    """How tasks may pass: at a given level, the three of "auto", or the four of successes, with their shares of delta.

    A task has to pass each requirement in the same way. Each metric has its own numbers of successes, if all its tasks
    have as many trials.
    """
    first = metrics[0].sample
    usual = _usual(first, listed)
    enough = [each.enough(beta.betas if isinstance(beta, Levels) else beta, usual) for each in metrics]
    if isinstance(beta, Levels):
        betas, deltas = beta
    elif beta is not None:
        betas, deltas = beta.reshape(1), delta.reshape(1)
    else:
        most = max(float(each.sample.num_rollouts) for each in metrics)
        levels = np.asarray(usual.levels, delta.dtype)
        shares, own = np.asarray(usual.shares(most), delta.dtype), np.arange(len(levels))
        own = own.astype(delta.dtype)
        rows = [own if each is None else each.successes[0].astype(delta.dtype) for each in enough]
        # Ways with the same numbers of successes, and without a bound, are one.
        xp = np if all(isinstance(row, np.ndarray) for row in rows) else jnp
        betas, deltas = levels, delta * together(xp.stack(rows), shares)
    known = all(each.has_one_level for each in metrics) and method.tail and usual is NEW_TASKS
    table = table_of(method.tail, int(first.num_tasks), first.tasks[-1], deltas) if known else None
    return Tried(enough, deltas, table, betas)


def _usual(sample: Sample, listed: bool) -> UsualLevels:
    """The levels that are tried if none is given."""
    return LISTED_TASKS if listed else NEW_TASKS if sample.weights is None else WEIGHTED_TASKS


# --- within a program -----------------------------------------------------------------------------------------------


@functools.partial(quickly, static_argnums=(0, 1))
def _counted(
    method: Method, listed: bool, metrics: list[Metric], tried: Tried, beta: Any, delta: jax.Array
) -> dict[str, jax.Array]:
    first = metrics[0].sample
    n, usual, weighted = first.num_tasks, method.counts_successes and beta is None, first.weights is not None
    numbers = functools.partial(numbers_for, usual=_usual(first, listed))
    each = [_passed(metric, tried, beta, i, usual and metric.bound.binary, numbers) for i, metric in enumerate(metrics)]
    passes, levels, bad_tasks = (jnp.stack(arrays, axis=-3) for arrays in zip(*each, strict=True))
    bad_task, one_level = jnp.any(bad_tasks, axis=-3)[..., 0], all(each.has_one_level for each in metrics)
    there, history, allowance = in_front(bad_task, n), None, None
    passed, level = jnp.all(passes, axis=-3), jnp.max(levels, axis=-3)
    if listed:
        found, allowance = _of_the_list(passed, level, ~bad_task | ~there, n, tried.deltas, delta)
    elif method is EVERY_MOMENT:
        row = there[..., None]
        violations, history = at_every_moment(~passed & row, row, beta, delta)
        history = jnp.where(jnp.isfinite(_row(metrics)), history, 1.0)
        found = violations, history[..., -1, :], jnp.broadcast_to(jnp.asarray(beta), violations.shape)
    else:
        by = by_weights(first) if weighted else _by_count(method.tail, n, tried.table) if one_level else by_coins
        bad_task |= ~ratios_of(first)[1] if weighted else False
        passed, valid = passed | ~there[..., None], in_unit(delta)
        every = jnp.where(there[..., None], level, 1.0 if by is by_coins else 0.0)
        risks = by(passed, every, jnp.where(valid, tried.deltas, jnp.nan))
        worst = jnp.max(jnp.where(there[..., None], level, 0), axis=-2)
        found = too_few(passed), risks, jnp.broadcast_to(worst, risks.shape)
    best = best_of(*found, ~passes & there[..., None, :, None])
    row = jax.tree.map(lambda each: each[..., None], best._replace(missed=None))
    fields = fields_of_best(row, _row(metrics), beta, delta, n, any_of(bad_task, n))
    fields = _as_one(fields)
    good = jnp.zeros_like(fields["num_valid"])
    if allowance is not None:  # nothing where nothing is certified, as for invalid input
        good = jnp.where(fields["safety"] > 0, fields["num_valid"] - where_smallest(found[1], allowance), good)
    fields |= {"chosen": best.chosen} if beta is None else {}
    fields |= {} if history is None else {"history": history[..., 0]}
    return fields | {"level": best.level, "missed": best.missed, "num_good": good}


def _passed(
    metric: Metric, tried: Tried, beta: Any, place: int, usual: bool, numbers: Callable[[Any], Numbers]
) -> tuple[jax.Array, ...]:
    """The tasks that pass in each way, the level at which a bad task passes, [..., n, ways], and the invalid tasks.

    By lower bounds at the levels that are tried, or by numbers of successes at these, or near the usual ones.
    """
    sample, threshold, enough = metric.better, metric.threshold, tried.enough[place]
    if not metric.bound.binary:
        betas = jnp.asarray(tried.betas, sample.dtype)
        # A task passes at a level only if it passes at every larger one, too, however the bounds are rounded.
        lower = jax.lax.cummin(task_bounds(metric.bound, sample, betas, each=True), axis=0, reverse=True)
        passed = jnp.moveaxis(lower >= threshold, 0, -1)
        return (
            passed,
            jnp.broadcast_to(betas, passed.shape).astype(tried.deltas.dtype),
            jnp.isneginf(lower[0])[..., None],
        )
    found = counted(sample)
    if enough is None:
        thresholds = jnp.broadcast_to(threshold, found.num_rollouts.shape)
        enough, _ = numbers(None if usual else metric.level(tried.betas))(found.num_rollouts, thresholds)
    shape = (*found.successes.shape, enough.successes.shape[-1])
    passed = found.successes[..., None] >= jnp.broadcast_to(enough.successes, shape)
    # If the data choose one of several levels, the calibrated level counts, not the smaller attained one.
    each_level = enough.level if usual or beta is not None else tried.betas
    return passed, jnp.broadcast_to(each_level, shape).astype(tried.deltas.dtype), (found.successes < 0)[..., None]


def _by_count(tail: Tail, n: Any, table: Any) -> Solve:
    """The risk of new tasks, if all have the same levels."""

    def by_count(passed: jax.Array, level: jax.Array, deltas: jax.Array) -> jax.Array:
        k, ways = too_few(passed), np.arange(passed.shape[-1], dtype=np.int32)
        worst = jnp.broadcast_to(jnp.max(level, axis=-2), k.shape)
        return solve(tail, k, n, worst, deltas, table, size=passed.shape[-2], row=ways).epsilon

    return by_count


def _of_the_list(passed, level, valid, n, deltas, delta) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
    """Violations, the share of the list that may be bad, and the largest level, each [..., ways]; and the others.

    Those are the tasks that pass and may be bad.
    """
    there = in_front(valid, n)[..., None]
    level = jnp.where(there, level, 0)
    passed, by_way = (jnp.moveaxis(each, -1, -2)[..., None] for each in (passed | ~there, level))
    violations, others = allowances(Passes(passed, by_way, deltas[..., None], valid), delta, n, None)
    k, others = jnp.sum(violations, axis=-2, dtype=jnp.int32)[..., 0], others[..., 0]
    bad, every = jnp.broadcast_arrays((k + others).astype(level.dtype), jnp.asarray(n, level.dtype))
    share = jnp.where(bad < every, quotient(bad, every), 1)
    worst = jnp.max(level, axis=-2)
    return (k, jnp.minimum(next_up(share, 2), 1), jnp.broadcast_to(worst, k.shape)), others


@jax.jit
def _weighed(metrics: list[Metric], alpha: jax.Array, delta: jax.Array, least: jax.Array) -> dict[str, jax.Array]:
    """From the evidence against each requirement: the smallest is the evidence of the task."""
    wealth, valid = zip(*(evidence(each.better, each.threshold.reshape(1)) for each in metrics), strict=True)
    wealth, first = jnp.stack([each.astype(delta.dtype) for each in wealth], axis=-3), metrics[0].sample
    all_valid = jnp.all(jnp.stack(valid), axis=0)
    there = in_front(all_valid, first.num_tasks)
    settings = jnp.zeros_like(delta), _row(metrics), alpha, delta, least, there
    fields = fields_of_evidence(first, jnp.min(wealth, axis=-3), all_valid, *settings)
    missed = ~(wealth[..., 0] > 1) & there[..., None, :]
    fields = _as_one(fields)
    return fields | {"missed": missed, "num_good": jnp.zeros_like(fields["num_valid"])}


def _row(metrics: list[Metric]) -> jax.Array:
    """One number instead of thresholds [1]: NaN if one of them is not finite."""
    finite = jnp.isfinite(jnp.stack([each.threshold.astype(float) for each in metrics]))
    return jnp.where(jnp.all(finite), 0.0, jnp.nan).reshape(1)


def _as_one(fields: dict[str, Any]) -> dict[str, jax.Array]:
    names = "safety", "epsilon", "num_violations", "num_valid", "status"
    return {name: fields[name][..., 0] for name in names}
