"""Adaptive rollouts on the device: rounds of whole rollouts, and which tasks they are for."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy
from jaxcert.rollouts._queue import run_at_once
from jaxcert.sequential import SequentialState
from jaxcert.sequential._wealth import advance

# A task has one rollout in a round, plus one for every eight that it has finished, since those after its decision are
# wasted.
_AHEAD = 8
# The number of rollouts of a task in a round, at most.
_AT_ONCE = 32


class Run(NamedTuple):
    """A sequential experiment under way, in fields of an ``AdaptiveCertificate``."""

    state: SequentialState
    num_started: jax.Array
    rollout_task: jax.Array
    rollout_return: jax.Array


class Worker(NamedTuple):
    """The inputs of an episode: the policy, the tasks [n], and the key of all rollouts."""

    policy: Policy
    tasks: Any
    key: jax.Array


@functools.partial(jax.jit, static_argnames=("env", "num_slots", "capacity"))
def go_on(
    env: MultiTaskEnv,
    worker: Worker,
    state: SequentialState,
    needed: jax.Array,
    max_rollouts: jax.Array,
    *,
    num_slots: int,
    capacity: int,
) -> Run:
    """Roll out until every task is decided or a limit is reached; at most ``capacity`` rollouts.

    ``needed``: how many tasks have to pass at each threshold, int32[t]; more than there are for no such end.
    """

    def goes_on(run: Run) -> jax.Array:
        return jnp.any(_wanted(run.state, needed)) & (run.num_started < max_rollouts)

    def one_round(run: Run) -> Run:
        task, number, taken = assign(run, needed, max_rollouts, num_slots)
        return _with(run, task, number, taken, _returns(env, worker, task, number, taken))

    logs = jnp.full(capacity, -1, jnp.int32), jnp.full(capacity, jnp.nan, state.low.dtype)
    return jax.lax.while_loop(goes_on, one_round, Run(state, jnp.zeros((), jnp.int32), *logs))


def _wanted(state: SequentialState, needed: jax.Array) -> jax.Array:
    """Tasks that are open at a threshold where more have to pass, bool[n]."""
    num_passed = jnp.sum(state.lower_bounds[:, None] >= state.thresholds[None], axis=0, dtype=jnp.int32)
    short = jnp.broadcast_to(num_passed < needed, state.passed.shape)
    return jnp.any(state.is_open & short, axis=-1)


def assign(
    run: Run, needed: jax.Array, max_rollouts: jax.Array, num_slots: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The task of each slot, the number of its rollout within the task, and whether there is one, [S] each.

    The open tasks with the fewest rollouts come first.
    """
    state = run.state
    ahead = jnp.minimum(1 + state.num_rollouts // _AHEAD, _AT_ONCE)
    room = jnp.minimum(ahead, state.max_rollouts_per_task - state.num_rollouts)
    ready = _wanted(state, needed)
    order = jnp.argsort(jnp.where(ready, state.num_rollouts, jnp.iinfo(jnp.int32).max)).astype(jnp.int32)
    count, rank = jnp.maximum(jnp.sum(ready, dtype=jnp.int32), 1), jnp.arange(num_slots, dtype=jnp.int32)
    task, times = order[rank % count], rank // count  # one rollout each, then a second each, ...
    taken = ready[task] & (times < room[task]) & (run.num_started + rank < max_rollouts)
    return task, state.num_rollouts[task] + times, taken


def _returns(env: MultiTaskEnv, worker: Worker, task: jax.Array, number: jax.Array, taken: jax.Array) -> jax.Array:
    """The return of each slot; rollout j of task i has the same key in whichever slot and order."""
    chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[task], worker.tasks)
    keys = jax.vmap(lambda i, j: jax.random.fold_in(jax.random.fold_in(worker.key, i), j))(task, number)
    returns, finite = run_at_once(env, worker.policy, chosen, keys, taken)
    return jnp.where(finite, returns, jnp.nan)


def _with(run: Run, task: jax.Array, number: jax.Array, taken: jax.Array, returns: jax.Array) -> Run:
    """The run with the rollouts of a round, within each task in the order of their numbers."""
    state, n = run.state, run.state.num_rollouts.size
    place = jnp.where(taken, number - state.num_rollouts[task], _AT_ONCE), task
    x = jnp.zeros((_AT_ONCE, n), returns.dtype).at[place].set(returns, mode="drop")
    num_taken = jnp.zeros(n, jnp.int32).at[task].add(taken.astype(jnp.int32))

    def one(i: jax.Array, state: SequentialState) -> SequentialState:
        return advance(state, x[i], i < num_taken)

    # The number of steps is the largest number of rollouts of a task here, not the possible maximum.
    state = jax.lax.fori_loop(jnp.int32(0), jnp.max(num_taken), one, state)
    at = jnp.where(taken, run.num_started + jnp.cumsum(taken, dtype=jnp.int32) - 1, run.rollout_task.size)
    return Run(
        state,
        run.num_started + jnp.sum(taken, dtype=jnp.int32),
        run.rollout_task.at[at].set(task, mode="drop"),
        run.rollout_return.at[at].set(returns, mode="drop"),
    )
