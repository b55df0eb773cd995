"""Which tasks of a fixed list are certainly good, and which certainly bad."""

import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate, joined, task_bounds
from jaxcert.bounds._padding import Tasks, padded, unpadded_tasks
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._prepare_array import task_shape
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose, default_bound, prepare_thresholds, warn_outside
from jaxcert.certificates._attained import counted
from jaxcert.certificates._certificate import Status, quantity_of
from jaxcert.certificates._levels import attained
from jaxcert.certificates._question import Option, Question, same
from jaxcert.certificates._tasks_certificate import TasksCertificate
from jaxcert.certificates._upper_bounds import check_complete, check_reflected, upper_task_bounds
from jaxcert.numerics._batches import as_argument
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import next_down, unit_roundoff
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns._sample import Paired
from jaxcert.returns.summaries import Summary

# Levels of Holm's procedure that are evaluated: one for each number of tasks named so far, or as many of these.
_MOST_LEVELS = 256
# Levels that are evaluated side by side, so that memory does not grow with the number of tasks.
_AT_ONCE = 8


def certify_each_task(
    returns: chex.Array | Summary | Paired,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    bound: str | None = None,
    complete: bool = False,
    tasks: Sequence[Any] | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> TasksCertificate:
    r"""Name tasks of a fixed list on which a policy certainly performs well, and on request some where it does not.

    All n tasks of the list were run, and the claims about all of them hold together. With lower bounds L at level beta,
    Holm's procedure names good tasks: with r of them named so far, those with

    .. math:: L_i\big(\delta / (n - r)\big) \ge B

    are named, too, until no more come. With ``complete`` a task is good if its lower bound at level delta / n is at
    least B, and bad if its upper bound at that level is below B. A task has just one of J >= B and J < B, so that of
    these 2n claims only n can be false. The rollouts of different tasks may depend on each other.

    Args:
        returns: as in ``certify_suite``; no summary with ``complete``.
        thresholds: float[t], or a scalar for one, fixed before the data are seen; margins for pairs.
        support: (a, b), as in ``certify``.
        delta: failure probability of all claims at one threshold together, in (0, 1); a scalar.
        bound: as in ``certify``; "clopper_pearson" by default for an array of bool.
        complete: True names bad tasks, too, and declares that each return is that of a whole rollout, of a finite
            horizon, as in ``certify_interval``.
        tasks: names of the tasks, [n], for the sentences; by default their places in the list.
        where: as in ``certify``. Tasks may have different numbers of rollouts.
        validate: as in ``certify``. A task with a return that is NaN is not named.

    Returns:
        A ``TasksCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``; for another number of names than tasks, or one twice or not printable; with
            ``complete``, as ``certify_interval``.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(30) < np.array([30, 29, 22, 9, 30])[:, None]
        >>> names = ["pick", "place", "pour", "fold", "push"]
        >>> print(certify_each_task(passed, 0.6, delta=0.05, complete=True, tasks=names))
        With confidence 0.95: the probability of success is at least 0.6 on pick, place, push (3 of 5),
        and below 0.6 on fold (1 of 5).

    Reference: Holm (1979); the theory page, section 22; its equation (22.3).
    """
    bound = default_bound(bound, returns)
    per_task = choose("bound", bound, BOUNDS)
    if complete is not False:
        check_complete(complete)
        check_reflected(per_task, returns, support)
    prepared = prepare(per_task, returns, support, where, validate, certificate=True)
    dtype, n = prepared.low.dtype, task_shape(prepared)[-1]
    thresholds = prepare_thresholds(thresholds, dtype, validate)
    warn_outside("thresholds", thresholds, (prepared.low, prepared.high), validate)
    delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    if complete:
        level = _share(delta, n)
        lower = task_bounds(per_task, prepared, level)
        upper = upper_task_bounds(per_task, returns, support, where, prepared, lower, level)
        fields = _both_sides(lower, upper, thresholds, delta)
    else:
        fields = _one_side(per_task, prepared, thresholds, delta, n)
    settings = {"num_tasks": n, "bound": bound, "quantity": quantity_of(bound, returns), "complete": complete}
    return TasksCertificate(thresholds=thresholds, **fields, delta=delta, **settings, tasks=_names(tasks, n))


def _names(tasks: Sequence[Any] | None, num_tasks: int) -> tuple[str, ...]:
    names = tuple(map(str, range(num_tasks) if tasks is None else tasks))
    if len(names) != num_tasks:
        raise ValueError(f"tasks are {len(names)} names; expected one for each of {num_tasks} tasks")
    seen: set[str] = set()
    for name in names:
        if not name.isprintable():  # a line of its own would read as a sentence of the certificate
            raise ValueError(f"tasks hold {name!r:.60}; expected names of printable characters")
        if name in seen:
            raise ValueError(f"tasks hold {name!r:.60} twice; expected a name of its own for each task")
        seen.add(name)
    return names


def _share(delta: jax.Array, parts: int | np.ndarray) -> jax.Array:
    """Delta over that many, rounded down; NaN for an invalid delta, a share of which might be a valid one."""
    return _quotient_down(delta, as_argument(np.asarray(parts, delta.dtype), delta))


@jax.jit
def _quotient_down(delta: jax.Array, number: jax.Array) -> jax.Array:
    delta = jnp.where((delta > 0) & (delta < 1), delta, jnp.nan)
    share = quotient(jnp.broadcast_to(delta, number.shape), number) * (1 - 4 * unit_roundoff(delta.dtype))
    return jnp.where(number > 1, share, delta)


def _named_so_far(num_tasks: int) -> np.ndarray:
    """The numbers r at which a level is evaluated, rising from 0: all, or some of which r is rounded down to one.

    The last one is repeated, so that programs for one number of levels serve others.
    """
    if num_tasks <= _MOST_LEVELS:
        found = np.arange(num_tasks)
    else:
        found = np.unique(num_tasks - np.ceil(np.geomspace(num_tasks, 1, _MOST_LEVELS)).astype(int))
    return np.pad(found, (0, max(16, 1 << (len(found) - 1).bit_length()) - len(found)), mode="edge")


def _one_side(bound: Bound, prepared: Prepared, thresholds: jax.Array, delta: jax.Array, n: int) -> dict:
    """Good tasks by Holm's procedure, at each threshold."""
    so_far = _named_so_far(n)
    levels, so_far = _share(delta, n - so_far), as_argument(so_far, delta)
    if bound.binary:
        found = counted(prepared, None)
        shape = (*found.num_successes.shape, thresholds.size)
        wanted = jnp.broadcast_to(found.num_successes[..., None], shape)
        p_values = attained(wanted, found.num_rollouts[..., None], thresholds)
        return _by_p_values(p_values, found.num_successes, levels, so_far, thresholds, delta)
    lower = unpadded_tasks(Tasks(_bounds_at(bound, *padded(prepared), levels), n))
    return _by_bounds(lower, so_far, thresholds, delta)


@functools.partial(jax.jit, static_argnums=0)
def _bounds_at(bound: Bound, x, low, high, where, levels: jax.Array) -> jax.Array:
    """Lower bounds at each level, [levels, ..., n], a few levels at a time."""

    def at(level: jax.Array) -> jax.Array:
        return joined(evaluate(bound, x, level, low, high, where))

    return jax.lax.map(at, levels, batch_size=_AT_ONCE)


@jax.jit
def _by_p_values(p_values, num_successes, levels, so_far, thresholds, delta) -> dict:
    valid = num_successes >= 0
    # Above 1 the level of m + 1 successes is 0, and no number of successes that a task can have says anything.
    possible = jnp.expand_dims(thresholds <= 1, range(p_values.ndim))
    passed = (p_values[None] <= levels.reshape(-1, *(1,) * p_values.ndim)) & possible
    return _named(passed & valid[None, ..., None], so_far, valid, thresholds, delta)


@jax.jit
def _by_bounds(lower, so_far, thresholds, delta) -> dict:
    return _named(_reached(lower, thresholds), so_far, jnp.isfinite(lower[0]), thresholds, delta)


def _named(passed: jax.Array, so_far: jax.Array, valid: jax.Array, thresholds: jax.Array, delta: jax.Array) -> dict:
    """Holm's procedure, from which tasks pass at each level, [levels, ..., n, t]."""
    count, numbers = jnp.sum(passed, axis=-2, dtype=np.int32), so_far.astype(np.int32)

    def step(_: jax.Array, place: jax.Array) -> jax.Array:
        named = jnp.take_along_axis(count, place[None], axis=0)[0]
        return jnp.maximum(place, jnp.searchsorted(numbers, named, side="right").astype(np.int32) - 1)

    place = jax.lax.fori_loop(0, so_far.size, step, jnp.zeros(count.shape[1:], np.int32))
    good = jnp.take_along_axis(passed, place[None, ..., None, :], axis=0)[0]
    return _fields(good, jnp.zeros_like(good), valid, thresholds, delta)


@jax.jit
def _both_sides(lower: jax.Array, upper: jax.Array, thresholds: jax.Array, delta: jax.Array) -> dict:
    # Below the float before each threshold, so below the number itself that was rounded up to it.
    bad = upper[..., None] < jnp.expand_dims(next_down(thresholds), range(upper.ndim))
    return _fields(_reached(lower, thresholds), bad, jnp.isfinite(lower), thresholds, delta)


def _reached(bounds: jax.Array, thresholds: jax.Array) -> jax.Array:
    """Which bounds [...] are at least each threshold, [..., t]."""
    return bounds[..., None] >= jnp.expand_dims(thresholds, range(bounds.ndim))


def _fields(good: jax.Array, bad: jax.Array, valid: jax.Array, thresholds: jax.Array, delta: jax.Array) -> dict:
    num_good, num_bad = (jnp.sum(each, axis=-2, dtype=np.int32) for each in (good, bad))
    status = jnp.where(num_good + num_bad > 0, Status.CERTIFIED.value, Status.VACUOUS.value)
    known = jnp.all(valid, axis=-1, keepdims=True) & (delta > 0) & (delta < 1)
    known = known & jnp.expand_dims(jnp.isfinite(thresholds), range(known.ndim - 1))
    status = jnp.where(known, status, Status.INVALID_INPUT.value).astype(np.int32)
    return {"num_good": num_good, "num_bad": num_bad, "status": status, "good": good, "bad": bad}


EACH_TASK = Question(
    name="each_task",
    words="on which tasks of this fixed list is the performance at least a threshold?",
    function=certify_each_task,
    certificate=TasksCertificate,
    columns={"threshold": "thresholds", "num_good": "num_good", "num_bad": "num_bad", "status": "status"},
    certified="num_good",
    claims={"num_good": min, "num_bad": min},
    risks={},
    settings=same("delta", "bound", "complete", "tasks"),
    options=(Option("complete", bool, "Name bad tasks, too, and declare that each return is that of a whole rollout"),),
    shortcut="each-task",
    listed=True,
    missing=lambda found, index, *_: ~np.asarray(found.good)[:, index],
    paired=True,
    not_about="tasks that are not in the list, or a single episode",
)
