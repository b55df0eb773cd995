"""What calls of the library add to a rollout that one would write by hand."""

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks._common import in_turns, machine, markdown
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive, certify_policy, collect
from jaxcert.tasks import from_functions, pendulum

# Tasks and rollouts of each environment: 10**5 steps or more.
NUM_TASKS, NUM_ROLLOUTS, TURNS = 20, 25, 15
HIDDEN = 32


def environments() -> Iterator[tuple[str, MultiTaskEnv, Callable[[jax.Array], Any]]]:
    """Names, environments, and how the output of a network becomes an action."""
    yield "pendulum", pendulum.ENV, jnp.tanh
    if importlib.util.find_spec("gymnax") is not None:
        pole, params = importlib.import_module("gymnax").make("CartPole-v1")

        def step(params: Any, state: Any, action: Any, key: jax.Array) -> Any:
            obs, state, reward, done, _ = pole.step_env(key, state, action, params)
            return state, obs, reward, done

        reset = lambda params, key: pole.reset_env(key, params)[::-1]  # noqa: E731
        lengths = lambda key: params.replace(length=jax.random.uniform(key, minval=0.3, maxval=1.0))  # noqa: E731
        cart_pole = from_functions(reset, step, lengths, episode_length=200, support=(0.0, 200.0))
        yield "CartPole of gymnax", cart_pole, lambda output: (output[0] > 0).astype(jnp.int32)
    if importlib.util.find_spec("brax") is not None:
        inverted = importlib.import_module("brax.envs").get_environment("inverted_pendulum", backend="positional")
        one_task = MultiTaskEnv(lambda task: inverted, lambda key: jnp.zeros(()), 200, (0.0, 200.0))
        yield "inverted pendulum of Brax", one_task, jnp.tanh


def network(env: MultiTaskEnv, act: Callable[[jax.Array], Any]) -> Policy:
    """Random weights, enough to make a step cost what steps cost."""
    first, second, third = jax.random.split(jax.random.key(0), 3)
    task = env.sample_task(first)
    width = env.environment(task).reset(first).obs.size
    weights = jax.random.normal(second, (width, HIDDEN)), jax.random.normal(third, (HIDDEN, 1))
    return Policy(lambda w, obs, key: act(jnp.tanh(obs.reshape(-1) @ w[0]) @ w[1]), weights)


def by_hand(env: MultiTaskEnv, policy: Policy) -> Callable[[Any, jax.Array], jax.Array]:
    """Returns [n, m] of tasks [n]: no check, no rounding, no certificate."""

    def episode(task: Any, key: jax.Array) -> jax.Array:
        start, acting = jax.random.split(key)
        world = env.environment(task)
        state = world.reset(start)

        def step(carry, i):
            state, total, alive = carry
            state = world.step(state, policy.apply(policy.params, state.obs, jax.random.fold_in(acting, i)))
            total = total + jnp.where(alive, state.reward, 0)
            return (state, total, alive & (state.done == 0)), None

        begin = state, jnp.zeros(()), state.done == 0
        return jax.lax.scan(step, begin, jnp.arange(env.episode_length))[0][1]

    def returns(tasks: Any, key: jax.Array) -> jax.Array:
        keys = jax.random.split(key, (NUM_TASKS, NUM_ROLLOUTS))
        return jax.vmap(lambda task, row: jax.vmap(lambda each: episode(task, each))(row))(tasks, keys)

    return jax.jit(returns)


def collecting() -> Iterator[str]:
    """Milliseconds by hand, and the ratios of the three calls to it."""
    columns = ("environment", "steps", "by hand", "collect", "certify_policy", "certify_adaptive")
    yield from (*markdown(columns, (_compared(*each) for each in environments())), f"\n{machine()}")


def _compared(name: str, env: MultiTaskEnv, act: Callable[[jax.Array], Any]) -> tuple[str, ...]:
    policy, count = network(env, act), NUM_TASKS * NUM_ROLLOUTS
    tasks, key = env.sample_tasks(jax.random.key(1), NUM_TASKS), jax.random.key(2)
    hand = functools.partial(by_hand(env, policy), tasks, key)
    certified = env, policy, key, float(jnp.median(hand()))
    size: dict[str, Any] = {"num_tasks": NUM_TASKS, "delta": 0.05}
    calls = (
        functools.partial(collect, env, policy, tasks, key, num_rollouts=NUM_ROLLOUTS),
        functools.partial(certify_policy, *certified, num_rollouts=NUM_ROLLOUTS, **size),
        functools.partial(certify_adaptive, *certified, max_rollouts=count, **size),
    )
    pairs = [in_turns(hand, call, TURNS) for call in calls]
    cells = (f"{other / one:.2f}" for one, other in pairs)
    return name, f"{count * env.episode_length:,}", f"{1e3 * pairs[0][0]:.1f} ms", *cells
