"""The metrics of several requirements: checked, as samples of which larger returns are better."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_finite, is_concrete, warn
from jaxcert.bounds._bound import Bound
from jaxcert.certificates._anytime import EVERY_MOMENT
from jaxcert.certificates._batch_axes import STATIC
from jaxcert.certificates._levels import Enough, UsualLevels, usual_enough
from jaxcert.certificates._registry import bound_for
from jaxcert.certificates._soft import SOFT
from jaxcert.numerics._rounding import cast_host, complement_up, known
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import as_successes, is_successes
from jaxcert.returns._required import Side
from jaxcert.returns._sample import Sample, sample_of
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Histogram


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Metric:
    """The returns of a metric, the larger the better, and the threshold that they have to reach, a scalar."""

    sample: Sample
    threshold: Any
    bound: Bound = dataclasses.field(metadata=STATIC)
    of_failures: bool = dataclasses.field(metadata=STATIC)  # whether 0 is better than 1

    @property
    def better(self) -> Sample:
        """The returns, or the failures as successes; within a program."""
        return self.sample.failing if self.of_failures else self.sample

    @property
    def has_one_level(self) -> bool:
        """Whether all tasks have the same levels: unless their numbers of trials differ, of successes."""
        return self.sample.is_full or not self.bound.binary

    def enough(self, beta: Any, usual: UsualLevels) -> Enough | None:
        """The numbers of successes to pass, [1, ways], if every task has the same number of trials."""
        if not (self.bound.binary and self.sample.is_full):
            return None
        m = self.sample.num_rollouts.astype(self.threshold.dtype)
        return usual_enough(m, self.threshold.reshape(1), self.level(beta), usual)

    def level(self, beta: Any) -> Any:
        """What the level of numbers of successes must not exceed, in the type of the returns."""
        return None if beta is None else known(beta, self.threshold.dtype, "down")


def check_declared(sides: Sequence[Side], complete: Any) -> None:
    """Raise ValueError unless returns with an upper limit are declared to be of whole rollouts."""
    if not isinstance(complete, bool):
        raise ValueError(f"complete is {complete!r:.40}; expected True or False")
    if limited := [each.metric for each in sides if not (each.is_least or complete)]:
        raise ValueError(
            f"{limited[0]} is to be at most a number; expected complete=True (--complete), which declares that each "
            "rollout is whole, of a finite horizon: after a part of one a cost may still grow"
        )


def metrics_of(
    sides: Sequence[Side], returns: Any, where: Any, bound: str | None, method: str | None, validate: bool
) -> list[Metric]:
    """The returns of each side, checked, with the bound and the threshold that they have to reach.

    They have room for equally many tasks. The first one holds the weights of these, if any.

    Raises:
        ValueError: metrics without requirements, or the other way round; other tasks; or what ``certify`` refuses.
    """
    weights = returns if isinstance(returns, Weighted) else None
    returns = weights.returns if weights else returns
    names = list(dict.fromkeys(each.metric for each in sides))
    _check_names("returns", returns, names, "expected those of each metric by its name")
    if isinstance(where, Mapping):
        _check_names("where", where, names, "expected a mask of each metric by its name")
    masks = where if isinstance(where, Mapping) else dict.fromkeys(names, where)
    if len({isinstance(each, Paired) for each in returns.values()}) > 1:
        raise ValueError("some of the metrics are pairs of two policies; expected pairs of each, or of none")
    settings = bound, method, validate
    metrics = [_metric_of(each, returns[each.metric], masks[each.metric], *settings) for each in sides]
    first = metrics[0].sample
    for side, sample in zip(sides, (each.sample for each in metrics), strict=True):
        counts = int(sample.num_tasks), int(first.num_tasks)
        if counts[0] != counts[1] or sample.tasks[:-1] != first.tasks[:-1]:
            found = f"{side.metric} has {counts[0]} tasks, {sides[0].metric} has {counts[1]}"
            raise ValueError(f"{found}; expected the same tasks, and the same leading axes")
    if len({each.sample.tasks for each in metrics}) > 1:
        metrics = [dataclasses.replace(each, sample=each.sample.unpadded) for each in metrics]
    if weights:
        first = metrics[0].sample
        held = weights.prepared(int(first.num_tasks), first.tasks, first.dtype, validate)
        metrics[0] = dataclasses.replace(metrics[0], sample=first.replace(weights=held))
    return metrics


def _check_names(what: str, given: Any, names: Sequence[str], expected: str) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} are no mapping; {expected} (a table gives them by read_returns or from_frame)")
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"there are no {what} of {', '.join(map(repr, missing))}; {expected}")
    if unasked := [name for name in given if name not in names]:
        raise ValueError(f"nothing is required of {', '.join(map(repr, unasked))}; {expected} that is required")


def _metric_of(side: Side, returns: Any, where: Any, name: str | None, method: str | None, validate: bool) -> Metric:
    of_two = isinstance(returns, Paired)
    try:
        if isinstance(returns, Histogram) or (hasattr(returns, "_each") and not of_two):
            raise ValueError("returns are no array; requirements are from single rollouts, of one policy or of pairs")
        returns = as_successes(returns, side.support, where, name)
        per_task, returns = bound_for(None if is_successes(returns) else name, returns, side.support, where)
        if side.support is None and not (returns.of_successes if of_two else per_task.binary):
            raise ValueError("a support is missing (in LOW HIGH after the number, or support=); successes need none")
        if of_two and not side.is_least:  # that B is better by a number
            returns = returns.swapped
        rounded_to: Any = "down" if side.is_least else "up"
        costly = per_task.costly or method == EVERY_MOMENT.name
        needs = dataclasses.replace(per_task, costly=costly, apart=method != SOFT.name)
        sample = sample_of(needs, returns, side.support, where, validate, side=rounded_to)
        _check_threshold(side, sample, validate)
    except ValueError as error:
        raise ValueError(f"{side.metric}: {error}") from error
    threshold = side.rounded(sample.dtype)
    if side.is_least:
        return Metric(sample, threshold, per_task, of_failures=False)
    if per_task.binary:
        return Metric(sample, rest(threshold), per_task, of_failures=True)
    return Metric(sample if of_two else sample.reflected, -threshold, per_task, of_failures=False)


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
        warn(text)


def rest(threshold: Any) -> Any:
    """1 - threshold, rounded up, for a number of at most 1; 2 for one below 0, which is never met, and else 0."""
    if is_concrete(threshold):
        value, dtype = float(threshold), threshold.dtype
        above = np.nextafter(1 - value, 3) if (1 - value) + value != 1 or 1 - (1 - value) != value else 1 - value
        rest = 2.0 if value < 0 else np.nan if np.isnan(value) else max(float(above), 0.0)
        return cast_host(np.asarray(rest), dtype, "up")
    rest = jnp.where(threshold < 0, 2, complement_up(jnp.clip(threshold, 0, 1)))
    return jnp.where(jnp.isnan(threshold), jnp.nan, rest).astype(threshold.dtype)
