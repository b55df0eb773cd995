"""What calls of the library add to a rollout that one would write by hand, and certificates to training."""

import functools
import importlib
import importlib.util
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import in_turns, machine, markdown, times
from jaxcert import certify
from jaxcert.rollouts import MultiTaskEnv, Policy, brax_policy, certify_adaptive, certify_policy, collect
from jaxcert.tasks import pendulum
from jaxcert.training import PENDULUM, CertificationHook, CheckpointBudget, train

# Tasks and rollouts of each environment: 10**5 steps or more.
NUM_TASKS, NUM_ROLLOUTS, TURNS = 20, 25, 15
HIDDEN = 32


def environments() -> Iterator[tuple[str, MultiTaskEnv, Callable[[jax.Array], Any]]]:
    """Names, environments, and how the output of a network becomes an action."""
    yield "pendulum", pendulum.ENV, jnp.tanh
    if importlib.util.find_spec("gymnax") is not None:
        from jaxcert.tasks import from_gymnax

        env, params = importlib.import_module("gymnax").make("CartPole-v1")
        lengths = lambda key: params.replace(length=jax.random.uniform(key, minval=0.3, maxval=1.0))  # noqa: E731
        cart_pole = from_gymnax(env, lengths, episode_length=200, support=(0.0, 200.0))
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


# --- certificates while a pendulum learns -------------------------------------------------------------------------

CHECKPOINT: dict[str, Any] = {"num_tasks": 100, "num_rollouts": 50}


def in_loop() -> Iterator[str]:
    """Checkpoints beside the same rollouts without a certificate, and both beside training; the first one compiles."""
    budget = CheckpointBudget(0.01, num_checkpoints=PENDULUM.num_evals)
    hook = CertificationHook(pendulum.ENV, jax.random.key(1), thresholds=[40.0, 80.0], budget=budget, **CHECKPOINT)
    begin = time.perf_counter()
    trained = train(pendulum.ENV, PENDULUM, hook=hook)
    total = time.perf_counter() - begin
    first, *others = (checkpoint.seconds for checkpoint in hook.checkpoints)
    first_rollouts, rollouts = _seconds_of_rollouts(brax_policy(trained.make_policy, trained.params))
    training, alone = total - first - sum(others), len(others) * rollouts
    beyond = sum(others) - alone
    yield f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {platform.processor() or platform.machine()}"
    yield f"training of {PENDULUM.num_timesteps:,} steps without checkpoints: {training:.1f} s"
    yield f"{len(others)} checkpoints after the first: {sum(others):.2f} s, rollouts alone {alone:.2f} s"
    yield f"beyond the rollouts: {beyond:.2f} s, {100 * beyond / training:.2f} % of the training"
    certificate = _seconds_to_compile_a_certificate()
    yield f"the first compiles: {first:.1f} s, rollouts alone {first_rollouts:.1f} s, certificate {certificate:.1f} s"
    for checkpoint in hook.checkpoints:
        assert checkpoint.safety is not None
        safety = np.asarray(checkpoint.safety.safety)
        yield f"  step {checkpoint.step:>9,}: {checkpoint.seconds:6.3f} s, certified safety {safety}"


def _seconds_of_rollouts(policy: Policy) -> tuple[float, float]:
    """The first, which compiles, and the median of five."""

    def call(seed: int) -> jax.Array:
        key = jax.random.key(seed)
        tasks = pendulum.ENV.sample_tasks(key, CHECKPOINT["num_tasks"])
        return collect(pendulum.ENV, policy, tasks, key, num_rollouts=CHECKPOINT["num_rollouts"])

    first, *later = (times(functools.partial(call, 100 + i), 1)[0] for i in range(6))
    return first, float(np.median(later))


def _seconds_to_compile_a_certificate() -> float:
    returns = np.random.default_rng(0).uniform(0, 100, tuple(CHECKPOINT.values())).astype(np.float32)
    return times(lambda: certify(returns, [40.0, 80.0], support=(0.0, 200.0), delta=0.01), 1)[0]
