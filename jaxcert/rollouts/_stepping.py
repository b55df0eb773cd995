"""Episodes side by side: their start, and one step of all that are not over."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._compensated import Sum, add_product, add_reward, as_rewards, nothing, product
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy


class Episodes(NamedTuple):
    """A batch of episodes, arrays with one leading axis.

    Attributes:
        tasks: of each episode.
        keys: for the actions of each episode.
        states: of the environments.
        steps: taken so far.
        weight: the power of the discount for the next reward; None without a discount.
        total: the discounted rewards so far.
        alive: whether an episode goes on.
        finite: whether all actions and dones were finite.
    """

    tasks: Any
    keys: jax.Array
    states: Any
    steps: jax.Array
    weight: Sum | None
    total: Sum
    alive: jax.Array
    finite: jax.Array


def begin(env: MultiTaskEnv, tasks: Any, keys: jax.Array, discount: jax.Array | None = None) -> Episodes:
    """Episodes on tasks, each with its own key; one that is over before its first step has a return of 0."""
    keys = jax.vmap(lambda key: jax.random.split(key))(keys)
    states = jax.vmap(lambda task, key: env.environment(task).reset(key))(tasks, keys[:, 0])
    known = ~jnp.isnan(states.done.astype(float))
    total = nothing(jnp.zeros(known.shape, jnp.result_type(float)))
    weight = None if discount is None else nothing(discount)._replace(high=jnp.ones_like(discount))
    steps = jnp.zeros(known.shape, jnp.int32)
    return Episodes(tasks, keys[:, 1], states, steps, weight, total, known & ~_is_done(states.done), known)


def advance(env: MultiTaskEnv, policy: Policy, episodes: Episodes, discount: jax.Array | None = None) -> Episodes:
    """One step of all; episodes that are over are stepped on, and ignored."""

    def step(task: Any, key: jax.Array, state: Any) -> tuple[Any, jax.Array]:
        action = policy.apply(policy.params, state.obs, key)
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(action)]
        return env.environment(task).step(state, action), jnp.all(jnp.array(finite))

    alive, weight, total = episodes.alive, episodes.weight, episodes.total
    now = jax.vmap(jax.random.fold_in)(episodes.keys, episodes.steps)
    states, good = jax.vmap(step)(episodes.tasks, now, episodes.states)
    # A done of NaN may hide the rest of an episode, whose rewards could have lowered the return.
    good = good & ~jnp.isnan(states.done.astype(float))
    reward = jnp.where(alive, as_rewards(states.reward, total.high.dtype), 0)
    steps = episodes.steps + 1
    return episodes._replace(
        states=states,
        steps=steps,
        weight=None if weight is None or discount is None else product(weight, discount),
        total=add_reward(total, reward) if weight is None else add_product(total, weight, reward),
        alive=alive & ~_is_done(states.done) & (steps < env.episode_length),
        finite=episodes.finite & (good | ~alive),
    )


def _is_done(done: jax.Array) -> jax.Array:
    """Whether an episode has ended; a done of NaN counts as an end."""
    return ~(done.astype(float) == 0)
