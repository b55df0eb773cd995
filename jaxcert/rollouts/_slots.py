"""Adaptive rollouts on the device: which task the next rollouts are for."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._summation import lower_end
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy
from jaxcert.rollouts._queue import Episodes, begin, step_on
from jaxcert.sequential import SequentialState
from jaxcert.sequential._wealth import advance as take_in

Schedule = Callable[[SequentialState, jax.Array], jax.Array]
"""From the state and the rollouts that each task has begun, int32[n], to float[n]: the smallest comes first."""


def _round_robin(state: SequentialState, started: jax.Array) -> jax.Array:
    """The task with the fewest rollouts."""
    return started.astype(state.wealth.dtype)


def _closest(state: SequentialState, started: jax.Array) -> jax.Array:
    """The task whose wealth is the largest share of its goal, at a threshold where it is open."""
    goal = jnp.broadcast_to(state.goal, state.passed.shape)
    return -jnp.max(jnp.where(state.is_open, state.mean_wealth / goal, 0), axis=-1)


SCHEDULES: dict[str, Schedule] = {
    "round_robin": _round_robin,
    "closest": _closest,
}


# A task has one rollout under way, plus one for every eight that it has finished, since rollouts under way at its
# decision are wasted. With r slots per task, r times as many are under way.
_AHEAD = 8
# Rollouts of a task that are taken in at once.
_AT_ONCE = 32
# Slots are refilled when an eighth of them is free: if fewer waited, all would be reset more often.
_REFILL = 8


class Limits(NamedTuple):
    """When a run ends, besides the decision of all tasks.

    Attributes:
        max_rollouts: begun in all.
        needed: tasks that have to pass at each threshold, int32[t]; more than there are for no such end.
    """

    max_rollouts: jax.Array
    needed: jax.Array


class Slots(NamedTuple):
    """The content of S slots: the task (-1 for a free slot) and the number of the rollout within its task, int32[S]."""

    task: jax.Array
    number: jax.Array
    work: Episodes


class Run(NamedTuple):
    """A sequential experiment under way.

    Attributes:
        started: rollouts that each task has begun, int32[n].
        num_started: rollouts begun in all, those that were not needed in the end included.
        num_counted: rollouts that the state knows of.
        log_task, log_return: of each rollout in the order in which they were taken in; -1 and NaN after the last.
    """

    slots: Slots
    state: SequentialState
    started: jax.Array
    num_started: jax.Array
    num_counted: jax.Array
    log_task: jax.Array
    log_return: jax.Array


class Worker(NamedTuple):
    """The inputs of an episode: the policy, the tasks [n], and the key of each task's rollouts."""

    policy: Policy
    tasks: Any
    keys: jax.Array


def first_run(env: MultiTaskEnv, worker: Worker, state: SequentialState, num_slots: int, capacity: int) -> Run:
    """A run before its first rollout: all slots are free, and nothing of them is stepped on before a refill."""
    nothing, number = jnp.full(num_slots, -1, jnp.int32), jnp.zeros(num_slots, jnp.int32)
    work = jax.eval_shape(functools.partial(_begin_work, env), worker, nothing, number)
    blank = jax.tree.map(functools.partial(_blank, worker.keys[0]), work)
    zero, slots = jnp.zeros((), jnp.int32), Slots(nothing, number, blank)
    logs = jnp.full(capacity, -1, jnp.int32), jnp.full(capacity, jnp.nan, state.low.dtype)
    return Run(slots, state, state.num_rollouts, zero, zero, *logs)


def _blank(key: jax.Array, leaf: Any) -> jax.Array:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jnp.broadcast_to(key, leaf.shape) if is_key else jnp.zeros(leaf.shape, leaf.dtype)


def _begin_work(env: MultiTaskEnv, worker: Worker, task: jax.Array, number: jax.Array) -> Episodes:
    """New work in all slots; rollout j of task i has the same key in whichever slot and order."""
    chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[jnp.maximum(task, 0)], worker.tasks)
    return begin(env, chosen, jax.vmap(jax.random.fold_in)(worker.keys[jnp.maximum(task, 0)], number))


@functools.partial(jax.jit, static_argnames=("env", "schedule"))
def go_on(env: MultiTaskEnv, schedule: Schedule, worker: Worker, run: Run, limits: Limits) -> Run:
    """Roll out until every task is decided or a limit is reached."""

    def goes_on(run: Run) -> jax.Array:
        possible = (run.num_started < limits.max_rollouts) | jnp.any(run.slots.task >= 0)
        return jnp.any(wanted(run, limits)) & possible

    def body(run: Run) -> Run:
        run = _refill(env, schedule, worker, run, limits)
        alive = jnp.sum(run.slots.work.alive, dtype=jnp.int32)
        most = jnp.maximum(alive - jnp.maximum(alive // _REFILL, 1), 0)
        run = run._replace(slots=run.slots._replace(work=step_on(env, worker.policy, run.slots.work, most)))
        return _collect_finished(run)

    return jax.lax.while_loop(goes_on, body, run)


def wanted(run: Run, limits: Limits) -> jax.Array:
    """Tasks that are open at a threshold where more have to pass, bool[n]."""
    state = run.state
    num_passed = jnp.sum(state.lower_bounds[:, None] >= state.thresholds[None], axis=0, dtype=jnp.int32)
    short = jnp.broadcast_to(num_passed < limits.needed, state.passed.shape)
    return jnp.any(state.is_open & short, axis=-1)


# --- rollouts that are finished -----------------------------------------------------------------------------------


def _next_ones(run: Run) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The slots with finished rollouts that are next in order, how many of the task precede them, and all returns."""
    work = run.slots.work
    over = (run.slots.task >= 0) & ~work.alive
    returns = jnp.where(work.finite, lower_end(work.total), jnp.nan)  # of an action or a done that was not finite
    before = run.slots.number - run.state.num_rollouts[run.slots.task]
    return over & (before < _AT_ONCE), before, returns


def _collect_finished(run: Run) -> Run:
    """Take in finished rollouts, within each task in the order of their numbers."""

    def some(run: Run) -> jax.Array:
        ready, before, _ = _next_ones(run)
        return jnp.any(ready & (before == 0))

    return jax.lax.while_loop(some, _collect_block, run)


def _collect_block(run: Run) -> Run:
    """The next few of each task, up to the first that is not finished."""
    n, slots = run.started.size, run.slots
    ready, before, returns = _next_ones(run)
    place = jnp.where(ready, before, _AT_ONCE), slots.task
    x = jnp.zeros((_AT_ONCE, n), returns.dtype).at[place].set(returns, mode="drop")
    there = jnp.zeros((_AT_ONCE, n), bool).at[place].set(True, mode="drop")
    row = jnp.arange(_AT_ONCE, dtype=jnp.int32)[:, None]
    num_taken = jnp.min(jnp.where(there, _AT_ONCE, row), axis=0)
    last = run.num_counted + jnp.cumsum(num_taken, dtype=jnp.int32)
    first = last - num_taken  # in the log the rollouts of a task follow each other

    def one(i: jax.Array, state: SequentialState) -> SequentialState:
        return take_in(state, x[i], i < num_taken)

    # The number of steps is the largest number of rollouts of a task here, not the possible maximum.
    state = jax.lax.fori_loop(jnp.int32(0), jnp.max(num_taken), one, run.state)
    taken = ready & (before < num_taken[slots.task])
    at = jnp.where(taken, first[slots.task] + before, run.log_return.size)
    return run._replace(
        slots=slots._replace(task=jnp.where(taken, -1, slots.task)),
        state=state,
        num_counted=last[-1],
        log_task=run.log_task.at[at].set(slots.task, mode="drop"),
        log_return=run.log_return.at[at].set(returns, mode="drop"),
    )


# --- new rollouts -------------------------------------------------------------------------------------------------


def _refill(env: MultiTaskEnv, schedule: Schedule, worker: Worker, run: Run, limits: Limits) -> Run:
    """Leave rollouts that are not needed any more, and give free slots to the tasks that come next.

    A free slot for which there is none holds an episode that is over, but real: it is stepped on, and any other might
    not end.
    """
    open_tasks = wanted(run, limits)
    slots = run.slots._replace(task=jnp.where(open_tasks[run.slots.task], run.slots.task, -1))
    # An abandoned rollout is begun again, with the same number, if its task is needed after all.
    started = jnp.where(open_tasks, run.started, run.state.num_rollouts)
    task, number = _assign(schedule, run._replace(slots=slots, started=started), open_tasks, limits)
    new, free = task >= 0, slots.task < 0
    task, number = jnp.where(free, task, slots.task), jnp.where(new, number, slots.number)
    fresh = _begin_work(env, worker, task, number)
    work = jax.tree.map(lambda a, b: jnp.where(jnp.expand_dims(free, range(1, a.ndim)), a, b), fresh, slots.work)
    work = work._replace(alive=work.alive & (task >= 0))
    place = jnp.where(new, task, started.shape[0])
    return run._replace(
        slots=Slots(task, number, work),
        started=started.at[place].add(1, mode="drop"),
        num_started=run.num_started + jnp.sum(new, dtype=jnp.int32),
    )


def _assign(schedule: Schedule, run: Run, open_tasks: jax.Array, limits: Limits) -> tuple[jax.Array, jax.Array]:
    """A task and the number of its rollout for each free slot, int32[S]; task -1 for none."""
    free = run.slots.task < 0
    under_way = run.started - run.state.num_rollouts
    most = run.state.max_rollouts_per_task - run.started
    share = max(1, free.size // run.started.size)
    # No more than there are slots for, since the product would not fit into 32 bits.
    counted = jnp.minimum(run.state.num_rollouts, _AHEAD * free.size // share)
    room = jnp.minimum(share + share * counted // _AHEAD - under_way, most)
    ready = open_tasks & (room > 0)
    priority = jnp.where(ready, schedule(run.state, run.started), jnp.inf)
    order, count = jnp.argsort(priority), jnp.maximum(jnp.sum(ready, dtype=jnp.int32), 1)
    rank = jnp.cumsum(free, dtype=jnp.int32) - 1
    task, times = order[rank % count].astype(jnp.int32), rank // count  # one rollout each, then a second each, ...
    taken = free & ready[task] & (times < room[task]) & (run.num_started + rank < limits.max_rollouts)
    return jnp.where(taken, task, -1), run.started[task] + times
