"""Tasks with known truth: a task is a success probability, which the action multiplies."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.tasks import MultiTaskEnv


class State(NamedTuple):
    """The state of one episode, which is a single toss."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array


@dataclasses.dataclass(frozen=True)
class Coin:
    """A toss of probability p times the action."""

    p: jax.Array
    action_size = 1

    def reset(self, rng):
        return State(self.p[None], jnp.zeros(()), jnp.zeros((), bool), rng)

    def step(self, state, action):
        success = jax.random.uniform(state.key) < self.p * action[0]
        return State(state.obs, success.astype(jnp.float32), jnp.ones((), bool), state.key)


# Uniform p: the safety S(B) of the action a is 1 - B / a.
COINS = MultiTaskEnv(Coin, lambda key: jax.random.uniform(key), 5, (0.0, 1.0))


def answer(params, obs, key):
    """The action is the parameter, whatever the observation."""
    return jnp.broadcast_to(params, (1,))


def make_policy(params, deterministic=False):
    """The same policy, made as Brax makes them."""
    return lambda obs, key: (answer(params, obs, key), {})
