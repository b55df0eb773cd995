"""Name the tasks of a fixed list that are good, and those that are bad."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._attained import counted
from jaxcert.certificates._certificate import answer
from jaxcert.certificates._counting import reached, status_where, valid_rows
from jaxcert.certificates._episode import IN_A_ROW, in_a_row
from jaxcert.certificates._interval import both_sides, check_complete, upper_bounds
from jaxcert.certificates._levels import with_level
from jaxcert.certificates._question import Option, Question, Rows
from jaxcert.certificates._registry import Returns, bound_for, thresholds_of
from jaxcert.certificates._suite import SuiteCertificate
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import next_down
from jaxcert.returns._labels import check_printable
from jaxcert.returns._prepared import Support, part_of, probability
from jaxcert.returns._sample import Sample, padded_rows, placed, sample_of

# How many levels of Holm's procedure are evaluated at most: one for each number of tasks named so far, or a grid of
# these.
_MOST_LEVELS = 256
# Levels that are evaluated side by side, so that memory does not grow with the number of tasks.
_AT_ONCE = 8


def certify_each_task(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str | None = None,
    complete: bool = False,
    tasks: Sequence[Any] | None = None,
    num_episodes: int = 1,
    where: Array | None = None,
    validate: bool = True,
) -> SuiteCertificate:
    r"""Name tasks of a fixed list on which a policy certainly performs well, and on request some where it does not.

    All n tasks of the list were run, and the claims about all of them hold together. With lower bounds L at level beta,
    Holm's procedure names good tasks: with r of them named so far, those with

    .. math:: L_i\big(\delta / (n - r)\big) \ge B

    are named, too, until no more come. With ``complete`` a task is good if its lower bound at level delta / n is at
    least B, and bad if its upper bound at that level is below B. Only one of J >= B and J < B holds for a task, so only
    n of these 2n claims can be false. The rollouts of different tasks may depend on each other.

    Args:
        returns, num_episodes: as in ``certify_suite``; no summary with ``complete``.
        thresholds: float[t], or a scalar for one, fixed before the data are seen; margins for pairs.
        support, bound, where, validate: as in ``certify``. Tasks may have different numbers of rollouts; one with a NaN
            is not named.
        delta: failure probability of all claims at one threshold together, in (0, 1); a scalar.
        complete: True names bad tasks, too, and declares that each return is that of a whole rollout, of a finite
            horizon, as in ``certify_interval``.
        tasks: names of the tasks, [n], for the sentences; by default their places in the list.

    Returns:
        A ``SuiteCertificate`` with arrays [..., t], which names tasks.

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
    per_task, returns = bound_for(bound, returns, support, where)
    # Bounds at a level for each number of tasks that are named.
    needs, raised = dataclasses.replace(per_task, costly=not complete), None
    if complete is not False:
        check_complete(complete)
        sample, raised = both_sides(needs, returns, support, where, validate)
    else:
        sample = sample_of(needs, returns, support, where, validate)
    n = int(sample.num_tasks)
    row = thresholds_of(sample, thresholds, validate)
    needed, quantity = in_a_row(row, num_episodes, per_task, returns, validate)
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    rows = padded_rows(needed, sample, 1)
    if complete:
        level = part_of(delta, np.asarray(1 / n, sample.dtype))
        fields = _both_sides(per_task, *placed((sample, raised, rows, delta, level)))
    else:
        so_far = _named_so_far(n)
        levels = part_of(delta, (1 / (n - so_far)).astype(sample.dtype))
        fields = _one_side(per_task, *placed((sample, rows, delta, levels, so_far)))
    settings = {"bound": per_task.name, "quantity": quantity, "complete": complete, "num_episodes": num_episodes}
    settings |= {"tasks": _names(tasks, n), "question": "each_task"}
    fields |= {"thresholds": padded_rows(row, sample, 1), "delta": delta}
    return answer(SuiteCertificate, fields, n, len(row), **settings)


def _names(tasks: Sequence[Any] | None, num_tasks: int) -> tuple[str, ...]:
    names = tuple(map(str, range(num_tasks) if tasks is None else tasks))
    if len(names) != num_tasks:
        raise ValueError(f"tasks are {len(names)} names; expected one for each of {num_tasks} tasks")
    check_printable("tasks hold", names)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"tasks hold {name!r:.60} twice; expected a name of its own for each task")
    return names


def _named_so_far(num_tasks: int) -> np.ndarray:
    """The numbers r at which a level is evaluated, rising from 0: all or some, in front of repetitions of the last."""
    if num_tasks <= _MOST_LEVELS:
        found = np.arange(num_tasks)
    else:
        found = np.unique(num_tasks - np.ceil(np.geomspace(num_tasks, 1, _MOST_LEVELS)).astype(int))
    return np.pad(found, (0, max(16, 1 << (len(found) - 1).bit_length()) - len(found)), mode="edge")


@functools.partial(jax.jit, static_argnums=0)
def _one_side(bound: Bound, sample: Sample, thresholds, delta, levels, so_far) -> dict:
    """Good tasks by Holm's procedure, at each threshold."""
    if bound.binary:
        found = counted(sample)
        p_values = with_level(found.successes[..., None], found.num_rollouts[..., None], thresholds).level
        valid = found.successes >= 0
        # Above 1 the level of m + 1 successes is 0, and no number of successes that a task can have says anything.
        possible = jnp.expand_dims(thresholds <= 1, range(p_values.ndim))
        passed = (p_values[None] <= levels.reshape(-1, *(1,) * p_values.ndim)) & possible
        passed = passed & valid[None, ..., None]
    else:
        # A few levels at a time.
        lower = jax.lax.map(lambda level: task_bounds(bound, sample, level), levels, batch_size=_AT_ONCE)
        passed, valid = reached(lower, thresholds), jnp.isfinite(lower[0])
    there = in_front(valid, sample.num_tasks)
    return _named(passed & there[None, ..., None], so_far, valid | ~there, thresholds, delta)


def _named(passed: jax.Array, so_far: jax.Array, valid: jax.Array, thresholds: jax.Array, delta: jax.Array) -> dict:
    """Holm's procedure, from which tasks pass at each level, [levels, ..., n, t]."""
    count, numbers = jnp.sum(passed, axis=-2, dtype=np.int32), so_far.astype(np.int32)

    def step(_: jax.Array, place: jax.Array) -> jax.Array:
        named = jnp.take_along_axis(count, place[None], axis=0)[0]
        return jnp.maximum(place, jnp.searchsorted(numbers, named, side="right").astype(np.int32) - 1)

    place = jax.lax.fori_loop(0, so_far.size, step, jnp.zeros_like(count[0]))
    good = jnp.take_along_axis(passed, place[None, ..., None, :], axis=0)[0]
    return _fields(good, jnp.zeros_like(good), valid, thresholds, delta)


@functools.partial(jax.jit, static_argnums=0)
def _both_sides(bound: Bound, sample: Sample, raised: Sample, thresholds, delta, level) -> dict:
    lower = task_bounds(bound, sample, level)
    upper = upper_bounds(bound, raised, level, lower)
    # Below the float before each threshold, so below the number itself that was rounded up to it.
    bad = upper[..., None] < jnp.expand_dims(next_down(thresholds), range(upper.ndim))
    there = in_front(lower, sample.num_tasks)
    good, bad = reached(lower, thresholds) & there[..., None], bad & there[..., None]
    return _fields(good, bad, jnp.isfinite(lower) | ~there, thresholds, delta)


def _fields(good: jax.Array, bad: jax.Array, valid: jax.Array, thresholds: jax.Array, delta: jax.Array) -> dict:
    num_good, num_bad = (jnp.sum(each, axis=-2, dtype=np.int32) for each in (good, bad))
    status = status_where(num_good + num_bad > 0, valid_rows(valid, thresholds, delta))
    return {"num_good": num_good, "num_bad": num_bad, "status": status, "good": good, "bad": bad}


EACH_TASK = Question(
    name="each_task",
    words="on which tasks of this fixed list is the performance at least a threshold?",
    function=certify_each_task,
    rows=Rows(
        {"threshold": "thresholds", "num_good": "num_good", "num_bad": "num_bad", "status": "status"},
        "num_good",
        {"num_good": min, "num_bad": min},
        {},
    ),
    options=(
        Option("complete", bool, "Name bad tasks, too, and declare that each return is that of a whole rollout"),
        IN_A_ROW,
    ),
    shortcut="each-task",
    listed=True,
    missing=lambda found, index: ~np.asarray(found.good)[:, index],
    paired=True,
)
