"""Run episodes step by step; a finished one gives its place to the next."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._types import Numeric
from jaxcert.numerics._summation import Sum, add_reward, as_rewards, lower_end, nothing
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy


class Episodes(NamedTuple):
    """A batch of episodes, arrays with one leading axis.

    Attributes:
        keys: for the actions of each episode.
        steps: taken so far.
        total: the rewards so far.
        alive: whether an episode goes on.
        finite: whether all actions and dones were finite.
    """

    tasks: Any
    keys: jax.Array
    states: Any
    steps: jax.Array
    total: Sum
    alive: jax.Array
    finite: jax.Array


def begin(env: MultiTaskEnv, tasks: Any, keys: jax.Array) -> Episodes:
    """Episodes on tasks, each with its own key; an episode that is over before its first step has a return of 0."""
    keys = jax.vmap(lambda key: jax.random.split(key))(keys)
    states = jax.vmap(lambda task, key: env.environment(task).reset(key))(tasks, keys[:, 0])
    known = ~jnp.isnan(states.done.astype(float))
    total = nothing(jnp.zeros(known.shape, jnp.result_type(float)))
    steps = jnp.zeros(known.shape, jnp.int32)
    return Episodes(tasks, keys[:, 1], states, steps, total, known & ~_is_done(states.done), known)


def advance(env: MultiTaskEnv, policy: Policy, episodes: Episodes) -> Episodes:
    """One step of all; episodes that are over are stepped on, and ignored."""

    def step(task: Any, key: jax.Array, state: Any) -> tuple[Any, jax.Array]:
        action = policy.apply(policy.params, state.obs, key)
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(action)]
        return env.environment(task).step(state, action), jnp.all(jnp.array(finite))

    alive, total = episodes.alive, episodes.total
    now = jax.vmap(jax.random.fold_in)(episodes.keys, episodes.steps)
    states, good = jax.vmap(step)(episodes.tasks, now, episodes.states)
    # A done of NaN may hide the rest of an episode, whose rewards could have lowered the return.
    good = good & ~jnp.isnan(states.done.astype(float))
    reward = jnp.where(alive, as_rewards(states.reward, total.high.dtype), 0)
    steps = episodes.steps + 1
    return episodes._replace(
        states=states,
        steps=steps,
        total=add_reward(total, reward),
        alive=alive & ~_is_done(states.done) & (steps < env.episode_length),
        finite=episodes.finite & (good | ~alive),
    )


def _is_done(done: jax.Array) -> jax.Array:
    """Whether an episode has ended; a done of NaN counts as an end."""
    return ~(done.astype(float) == 0)


def step_on(env: MultiTaskEnv, policy: Policy, episodes: Episodes, most: Numeric) -> Episodes:
    """Step until at most this number of episodes go on."""
    return jax.lax.while_loop(
        lambda work: jnp.sum(work.alive, dtype=jnp.int32) > most,
        lambda work: advance(env, policy, work),
        episodes,
    )


# Places are filled when a quarter of them is free. With a larger share they would wait longer, with a smaller one all
# would be looked through more often.
_REFILL = 4


class _Queue(NamedTuple):
    """Episodes under way, and the results of those before them.

    Attributes:
        number: which episode each is, int32[places]; in a free place a number beyond all results.
        begun: how many have begun.
        returns, finite: of each episode, and whether all its actions were finite.
    """

    work: Episodes
    number: jax.Array
    begun: jax.Array
    returns: jax.Array
    finite: jax.Array


def run_at_once(
    env: MultiTaskEnv, policy: Policy, tasks: Any, keys: jax.Array, where: jax.Array | bool = True
) -> tuple[jax.Array, jax.Array]:
    """Returns and whether all actions were finite, of an episode on each task, all of them side by side.

    Where there is to be none, an episode that is over is stepped on: a real one, as any other might not end.
    """
    work = begin(env, tasks, keys)
    end = step_on(env, policy, work._replace(alive=work.alive & where), 0)
    return lower_end(end.total), end.finite


def run_in_places(
    env: MultiTaskEnv,
    policy: Policy,
    tasks: Any,
    keys: jax.Array,
    *,
    num_rollouts: int,
    num_places: int,
) -> tuple[jax.Array, jax.Array]:
    """Returns and whether all actions were finite, of episodes with these keys: num_rollouts of each task in turn."""
    total, batch = keys.shape[0], max(num_places // _REFILL, 1)

    def begin_next(begun: int | jax.Array, count: int) -> tuple[Episodes, jax.Array]:
        number = begun + jnp.arange(count, dtype=jnp.int32)
        there = jnp.minimum(number, total - 1)
        chosen = jax.tree.map(lambda leaf: jnp.asarray(leaf)[there // num_rollouts], tasks)
        work = begin(env, chosen, keys[there])
        return work._replace(alive=work.alive & (number < total)), jnp.where(number < total, number, total)

    def run(queue: _Queue, most: int) -> _Queue:
        return _written(queue._replace(work=step_on(env, policy, queue.work, most)))

    def fill(queue: _Queue) -> _Queue:
        queue = run(queue, num_places - batch)
        free = jnp.argsort(queue.work.alive)[:batch]
        work, number = begin_next(queue.begun, batch)
        places = jax.tree.map(lambda old, new: old.at[free].set(new), (queue.work, queue.number), (work, number))
        return queue._replace(work=places[0], number=places[1], begun=queue.begun + batch)

    work, number = begin_next(0, num_places)
    results = jnp.zeros(total, work.total.high.dtype), jnp.zeros(total, bool)
    first = _Queue(work, number, jnp.int32(num_places), *results)
    last = run(jax.lax.while_loop(lambda queue: queue.begun < total, fill, first), 0)
    return last.returns, last.finite


def _written(queue: _Queue) -> _Queue:
    """The queue with the results of the episodes that are over."""
    work, beyond = queue.work, queue.returns.shape[0]
    at = jnp.where(work.alive, beyond, queue.number)
    returns = queue.returns.at[at].set(lower_end(work.total), mode="drop")
    return queue._replace(returns=returns, finite=queue.finite.at[at].set(work.finite, mode="drop"))
