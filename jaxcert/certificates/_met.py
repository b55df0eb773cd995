r"""Find the tasks that meet several requirements, each shown by its own bound or count, and the risk.

A bad task misses some requirement, and passes only if the bound of that one fails: with a probability of at most its
level, whatever the other metrics are. So the level of all requirements together is the largest of their levels, which
are not divided (an intersection-union test).
"""

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_finite, is_concrete
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._arguments import bound_for
from jaxcert.certificates._attained import ATTAINED, Tried, counted
from jaxcert.certificates._counting import any_of, at_least, best_of, fields_of_best
from jaxcert.certificates._levels import LEVELS, Enough, by_coins, delta_shares, numbers_for, together, usual_enough
from jaxcert.certificates._method import TAIL, Levels, Method, solve, table_of
from jaxcert.certificates._soft import SOFT, evidence, fields_of_evidence, least_evidence
from jaxcert.certificates._suite_counts import Passes, allowances
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import cast_host, complement_up, next_up
from jaxcert.returns._prepared import as_successes, is_successes
from jaxcert.returns._required import Side
from jaxcert.returns._sample import Sample, placed, sample_of
from jaxcert.returns.summaries import Histogram


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Metric:
    """The returns of a metric, the larger the better, and the threshold that they have to reach, a scalar."""

    sample: Sample
    threshold: Any
    bound: Bound = dataclasses.field(metadata={"static": True})
    of_failures: bool = dataclasses.field(metadata={"static": True})  # whether 0 is better than 1

    @property
    def better(self) -> Sample:
        """The returns, or the failures as successes; within a program."""
        return self.sample.failing if self.of_failures else self.sample

    @property
    def has_one_level(self) -> bool:
        """Whether all tasks have the same levels: unless their numbers of trials differ, of successes."""
        return self.sample.is_full or not self.bound.binary

    def enough(self, beta: Any) -> Enough | None:
        """The numbers of successes to pass, [1, ways], if every task has the same number of trials."""
        if not (self.bound.binary and self.sample.is_full):
            return None
        m = self.sample.num_rollouts.astype(self.threshold.dtype)
        return usual_enough(m, self.threshold.reshape(1), beta)


# --- from returns and what is required of them to samples -----------------------------------------------------------


def check_declared(sides: Sequence[Side], complete: Any) -> None:
    """Raise ValueError unless returns with an upper limit are declared to be of whole rollouts."""
    if not isinstance(complete, bool):
        raise ValueError(f"complete is {complete!r:.40}; expected True or False")
    if limited := [each.metric for each in sides if not (each.is_least or complete)]:
        raise ValueError(
            f"{limited[0]} is to be at most a number; expected complete=True (--complete), which declares that each "
            "rollout is whole, of a finite horizon: after a part of one a cost may still grow"
        )


def metrics_of(sides: Sequence[Side], returns: Any, where: Any, bound: str | None, validate: bool) -> list[Metric]:
    """The returns of each side, checked, with the bound and the threshold that they have to reach.

    Raises:
        ValueError: metrics without requirements, or the other way round; other tasks; or what ``certify`` refuses.
    """
    names = list(dict.fromkeys(each.metric for each in sides))
    _check_names("returns", returns, names, "expected those of each metric by its name")
    if isinstance(where, Mapping):
        _check_names("where", where, names, "expected a mask of each metric by its name")
    masks = where if isinstance(where, Mapping) else dict.fromkeys(names, where)
    metrics = [_metric_of(each, returns[each.metric], masks[each.metric], bound, validate) for each in sides]
    _check_tasks(sides, metrics)
    return metrics


def _check_names(what: str, given: Any, names: Sequence[str], expected: str) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} are no mapping; {expected} (a table gives them by read_returns or from_frame)")
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"there are no {what} of {', '.join(map(repr, missing))}; {expected}")
    if unasked := [name for name in given if name not in names]:
        raise ValueError(f"nothing is required of {', '.join(map(repr, unasked))}; {expected} that is required")


def _metric_of(side: Side, returns: Any, where: Any, name: str | None, validate: bool) -> Metric:
    try:
        if isinstance(returns, Histogram) or hasattr(returns, "_each"):
            raise ValueError("returns are no array; requirements are of one policy, from single rollouts")
        returns = as_successes(returns, side.support, where, name)
        per_task, returns = bound_for(None if is_successes(returns) else name, returns, side.support, where)
        if side.support is None and not per_task.binary:
            raise ValueError("a support is missing (in LOW HIGH after the number, or support=); successes need none")
        rounded_to: Any = "down" if side.is_least else "up"
        sample = sample_of(per_task, returns, side.support, where, validate, side=rounded_to)
        _check_threshold(side, sample, validate)
    except ValueError as error:
        raise ValueError(f"{side.metric}: {error}") from error
    threshold = side.rounded(sample.dtype)
    if side.is_least:
        return Metric(sample, threshold, per_task, of_failures=False)
    if per_task.binary:
        return Metric(sample, _rest(threshold), per_task, of_failures=True)
    return Metric(sample.reflected, -threshold, per_task, of_failures=False)


def _check_threshold(side: Side, sample: Any, validate: bool) -> None:
    """Raise ValueError for no number, or no upper end; warn of a threshold that no policy misses, or none reaches."""
    if np.ndim(side.threshold):
        raise ValueError(f"threshold has shape {np.shape(side.threshold)}; expected a scalar")
    if not side.is_least and is_concrete(sample.high) and not np.isfinite(sample.high):
        raise ValueError("support has no upper end, which a requirement of at most a number needs")
    if not (validate and is_concrete(side.threshold, sample.low, sample.high)):
        return
    check_finite("threshold", side.threshold, dtype=sample.dtype)
    low, high, value = float(sample.low), float(sample.high), float(side.threshold)
    beyond, short = (value > high, value < low) if side.is_least else (value < low, value > high)
    if beyond or short:
        why = "no policy meets that; is it in another unit, such as per cent?" if beyond else "every policy meets that"
        text = f"{side.metric}: the threshold {value:.9g} has the support ({low:.6g}, {high:.6g}) on one side: {why}"
        warnings.warn(text, UserWarning, stacklevel=5)


def _rest(threshold: Any) -> Any:
    """1 - threshold, rounded up, for a number of at most 1; 2 for one below 0, which is never met, and else 0."""
    if is_concrete(threshold):
        value, dtype = float(threshold), threshold.dtype
        above = np.nextafter(1 - value, 3) if (1 - value) + value != 1 or 1 - (1 - value) != value else 1 - value
        rest = 2.0 if value < 0 else np.nan if np.isnan(value) else max(float(above), 0.0)
        return cast_host(np.asarray(rest), dtype, "up")
    rest = jnp.where(threshold < 0, 2, complement_up(jnp.clip(threshold, 0, 1)))
    return jnp.where(jnp.isnan(threshold), jnp.nan, rest).astype(threshold.dtype)


def _check_tasks(sides: Sequence[Side], metrics: Sequence[Metric]) -> None:
    first = metrics[0].sample
    for side, sample in zip(sides, (each.sample for each in metrics), strict=True):
        counts = int(sample.num_tasks), int(first.num_tasks)
        if counts[0] != counts[1] or sample.tasks[:-1] != first.tasks[:-1]:
            raise ValueError(
                f"{side.metric} has {counts[0]} tasks, {sides[0].metric} has {counts[1]}; expected the same tasks, and "
                "the same leading axes"
            )


# --- count, then solve ------------------------------------------------------------------------------------------------


def solved_together(
    method: Method, metrics: list[Metric], beta: Any, delta: Any, *, listed: bool = False
) -> dict[str, Any]:
    """The fields of a certificate [...] by a method, at rounded levels; beta is None or ``Levels`` where it chooses.

    ``listed``: whether it is about these tasks, in place of new ones.
    """
    if method is SOFT:
        most = max(int(each.sample.num_rollouts) for each in metrics)
        least = least_evidence(most, np.dtype(delta.dtype))
        return _weighed(*placed((metrics, beta, delta, least))) | {"level": beta, "delta": delta}
    given = None if isinstance(beta, Levels) else beta
    fields = _counted(method, listed, *placed((metrics, _tried(metrics, beta, delta, listed), given, delta)))
    return fields | ({} if given is None else {"level": beta}) | {"delta": delta}


def _tried(metrics: list[Metric], beta: Any, delta: Any, listed: bool) -> Tried:
    """How tasks may pass: at a given level, the three of "auto", or the four of successes, with their shares of delta.

    A task has to pass each requirement in the same way. Each metric has its own numbers of successes, if all its tasks
    have as many trials.
    """
    enough = [each.enough(beta.betas if isinstance(beta, Levels) else beta) for each in metrics]
    if isinstance(beta, Levels):
        betas, deltas = beta
    elif beta is not None:
        betas, deltas = beta.reshape(1), delta.reshape(1)
    else:
        most = max(float(each.sample.num_rollouts) for each in metrics)
        shares, own = np.asarray(delta_shares(most), delta.dtype), np.arange(len(LEVELS), dtype=delta.dtype)
        rows = [own if each is None else each.successes[0].astype(delta.dtype) for each in enough]
        # Ways with the same numbers of successes, and without a bound, are one.
        xp = np if all(isinstance(row, np.ndarray) for row in rows) else jnp
        betas, deltas = np.asarray(LEVELS, delta.dtype), delta * together(xp.stack(rows), shares)
    known = all(each.has_one_level for each in metrics) and not listed
    table = table_of(TAIL, int(metrics[0].sample.num_tasks), _room(metrics), deltas) if known else None
    return Tried(enough, deltas, table, betas)


def _room(metrics: list[Metric]) -> int:
    """For how many tasks the samples have room."""
    return max(each.sample.tasks[-1] for each in metrics)


# --- within a program -----------------------------------------------------------------------------------------------


@functools.partial(quickly, static_argnums=(0, 1))
def _counted(
    method: Method, listed: bool, metrics: list[Metric], tried: Tried, beta: Any, delta: jax.Array
) -> dict[str, jax.Array]:
    n, usual = metrics[0].sample.num_tasks, method is ATTAINED and beta is None
    each = [_passed(metric, tried, beta, i, usual and metric.bound.binary) for i, metric in enumerate(metrics)]
    # A task for which a sample has no room passes.
    passes, levels, bad_tasks = (
        _together(arrays, metrics, fill) for arrays, fill in zip(zip(*each, strict=True), (True, 0, False), strict=True)
    )
    bad_task, one_level = jnp.any(bad_tasks, axis=-3)[..., 0], all(each.has_one_level for each in metrics)
    there = in_front(bad_task, n)
    passed, level = jnp.all(passes, axis=-3), jnp.max(levels, axis=-3)
    if listed:
        found, allowance = _of_the_list(passed, level, ~bad_task | ~there, n, tried.deltas, delta)
    else:
        found, allowance = _risks(passed, level, there, n, tried, delta, one_level=one_level), None
    best = best_of(*found, ~passes & there[..., None, :, None])
    row = jax.tree.map(lambda each: each[..., None], best._replace(missed=None))
    fields = fields_of_best(method, row, _row(metrics), beta, delta, n, any_of(bad_task, n))
    others = 0 if allowance is None else at_least(found[1], allowance)
    fields = _as_one(fields)
    return fields | {"level": best.level, "missed": best.missed, "num_good": fields["num_valid"] - others}


def _passed(metric: Metric, tried: Tried, beta: Any, place: int, usual: bool) -> tuple[jax.Array, ...]:
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
        enough, _ = numbers_for(None if usual else tried.betas)(found.num_rollouts, thresholds)
    shape = (*found.successes.shape, enough.successes.shape[-1])
    passed = found.successes[..., None] >= jnp.broadcast_to(enough.successes, shape)
    # If the data choose one of several levels, the calibrated level counts, not the smaller attained one.
    each_level = enough.level if usual or beta is not None else tried.betas
    return passed, jnp.broadcast_to(each_level, shape).astype(tried.deltas.dtype), (found.successes < 0)[..., None]


def _risks(passed, level, there, n, tried: Tried, delta, *, one_level: bool) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The violations, the risks and the largest level of any task, each [..., ways]."""
    passed, valid = passed | ~there[..., None], (delta > 0) & (delta < 1)
    violations = passed.shape[-2] - jnp.sum(passed, axis=-2, dtype=jnp.int32)
    deltas = jnp.where(valid, tried.deltas, jnp.nan)
    worst = jnp.broadcast_to(jnp.max(jnp.where(there[..., None], level, 0), axis=-2), violations.shape)
    if not one_level:
        return violations, by_coins(passed, jnp.where(there[..., None], level, 1), deltas), worst
    ways = np.arange(passed.shape[-1], dtype=np.int32)
    found = solve(TAIL, violations, n, worst, deltas, tried.table, size=passed.shape[-2], row=ways)
    return violations, found.epsilon, worst


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


def _together(arrays: Sequence[jax.Array], metrics: list[Metric], fill: Any) -> jax.Array:
    """Arrays [..., n, ways], one of each metric, with room for all tasks: [..., r, n, ways]."""
    room, axes = _room(metrics), [(0, 0)] * (arrays[0].ndim - 2)
    more = [[*axes, (0, room - each.shape[-2]), (0, 0)] for each in arrays]
    return jnp.stack([jnp.pad(each, w, constant_values=fill) for each, w in zip(arrays, more, strict=True)], axis=-3)


@jax.jit
def _weighed(metrics: list[Metric], alpha: jax.Array, delta: jax.Array, least: jax.Array) -> dict[str, jax.Array]:
    """From the evidence against each requirement: the smallest is the evidence of the task."""
    wealth, valid = zip(*(evidence(each.better, each.threshold.reshape(1)) for each in metrics), strict=True)
    wealth = _together([each.astype(delta.dtype) for each in wealth], metrics, 0)
    all_valid = jnp.all(_together([each[..., None] for each in valid], metrics, False), axis=-3)[..., 0]
    there = in_front(all_valid, metrics[0].sample.num_tasks)
    settings = _row(metrics), alpha, delta, least, there
    fields = fields_of_evidence(SOFT, jnp.min(wealth, axis=-3), all_valid, jnp.zeros_like(delta), *settings)
    missed = ~(wealth[..., 0] > 1) & there[..., None, :]
    fields = _as_one(fields)
    return fields | {"missed": missed, "num_good": fields["num_valid"]}


def _row(metrics: list[Metric]) -> jax.Array:
    """One number instead of thresholds [1]: NaN if one of them is not finite."""
    finite = jnp.isfinite(jnp.stack([each.threshold.astype(float) for each in metrics]))
    return jnp.where(jnp.all(finite), 0.0, jnp.nan).reshape(1)


def _as_one(fields: dict[str, Any]) -> dict[str, jax.Array]:
    names = "safety", "epsilon", "num_violations", "num_valid", "status"
    return {name: fields[name][..., 0] for name in names}
