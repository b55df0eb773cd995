"""Rollouts of a policy on tasks, all on the device."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert._validation import check_count, is_concrete
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy, PolicyOrFunction, as_policy, episode_key
from jaxcert.rollouts._queue import run_at_once, run_in_places

# Memory for states, actions and temporaries of a step, as a multiple of a state.
_STATES_AT_ONCE = 4
# The number of episodes side by side on a CPU: more are no faster, and with fewer, fewer wait for the longest. If
# episodes are shorter than the second number, handing places over costs more than waiting.
_PLACES_ON_A_CPU, _LONG_EPISODE = 512, 500


def collect(
    env: MultiTaskEnv,
    policy: PolicyOrFunction,
    tasks: Any,
    key: jax.Array,
    *,
    num_rollouts: int,
    max_bytes: int = 2**30,
    validate: bool = True,
) -> jax.Array:
    r"""Returns of a policy on tasks, in one compiled call.

    .. math:: X_{ij} = \sum_{t=1}^{T_{ij}} r_{ijt}

    with T the first step that is done, or the episode length; 0 for an episode that is over before its first step. A
    discount is the environment's, which multiplies its rewards.
    Rewards are added by compensated summation and the sum is rounded down: a return is the largest float that is at
    most the exact one, as long as the digits of the sum fit into two significands, and therefore in the support if the
    exact return is. Every episode has a random key of its own, so the returns do not depend on the memory budget.

    Args:
        env: the tasks' environments.
        policy: a ``Policy``, or a function of an observation and a JAX random key that gives an action. New parameters
            of a ``Policy`` do not trigger a recompilation, a new function does. Changes inside an object that a
            function reads are not noticed: trained parameters belong in a ``Policy``.
        tasks: a pytree of arrays with a leading axis [n], as from ``env.sample_tasks``.
        key: a fresh JAX random key, not used in training.
        num_rollouts: m.
        max_bytes: approximate memory for the states of episodes; if they do not all fit, an episode that is over
            gives its place to the next.
        validate: raise for actions and dones that are not finite, if they are concrete.

    Returns:
        Returns, float [n, m], on the device, rounded down; NaN where an action, a reward or a done was not finite.

    Raises:
        TypeError: if the policy is not a function.
        ValueError: for numbers or shapes that do not fit, and actions or dones that are not finite.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxcert.tasks import pendulum
        >>> tasks = pendulum.ENV.sample_tasks(jax.random.key(0), 4)
        >>> collect(pendulum.ENV, lambda obs, key: jnp.zeros(1), tasks, jax.random.key(1), num_rollouts=3).shape
        (4, 3)
    """
    check_count("num_rollouts", num_rollouts)
    policy, num_episodes = as_policy(policy), count_tasks(tasks) * num_rollouts
    num_places = _num_places(env, num_episodes, check_shapes(env, policy, tasks), max_bytes)
    returns, finite = _collect(env, policy, tasks, key, num_rollouts, num_places)
    if validate and is_concrete(finite) and not finite.all():
        task, rollout = (int(i) for i in jnp.argwhere(~finite)[0])
        place = f"task {task}, rollout {rollout}"
        raise ValueError(f"an action of the policy, or the done of the environment, is not finite, in {place}")
    return returns


def count_tasks(tasks: Any) -> int:
    """The leading axis that all arrays share; ValueError if they do not, or there is none."""
    shapes = {jnp.shape(leaf) for leaf in jax.tree.leaves(tasks)}
    lengths = {shape[0] if shape else 0 for shape in shapes}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(
            f"tasks have arrays of shapes {sorted(shapes)}; expected one leading axis [n] for all"
            " (np.array gives a list one)"
        )
    return lengths.pop()


def check_shapes(env: MultiTaskEnv, policy: Policy, tasks: Any) -> int:
    """Trace one step of one episode, without computing it, and return the bytes of its state and task."""
    task = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf)[1:], jnp.result_type(leaf)), tasks)
    params = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)), policy.params)
    leaves, structure = jax.tree.flatten((task, params))
    return _check_shapes(env, policy.apply, structure, tuple(leaves))


@functools.lru_cache(maxsize=64)  # tracing a physics engine takes a second
def _check_shapes(env: MultiTaskEnv, apply: Any, structure: Any, leaves: tuple) -> int:
    task, params = jax.tree.unflatten(structure, leaves)
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(lambda task, key: env.environment(task).reset(key), task, key)
    for name in ("obs", "reward", "done"):
        if not hasattr(state, name):
            raise ValueError(f"reset of the environment gives a {type(state).__name__}; expected a state with {name}")
    try:
        action = jax.eval_shape(apply, params, state.obs, key)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the policy does not take an observation of {_described(state.obs)}: {error}") from error
    _check_action(env, task, state, action)
    if state.reward.shape or state.done.shape:
        raise ValueError(f"reward and done have shapes {state.reward.shape}, {state.done.shape}; expected scalars")
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves((state, task)))


def _check_action(env: MultiTaskEnv, task: Any, state: Any, action: Any) -> None:
    """Check the shape if the environment states one; otherwise try a step."""

    def blank(task: Any) -> jax.Array | None:
        size = getattr(env.environment(task), "action_size", None)
        return None if size is None else jnp.zeros(size)

    wanted = jax.eval_shape(blank, task)
    if wanted is None:
        try:
            jax.eval_shape(lambda *given: env.environment(given[0]).step(*given[1:]), task, state, action)
        except (TypeError, ValueError) as error:
            given = _described(action)
            raise ValueError(f"the environment cannot make a step with an action of {given}: {error}") from error
    elif isinstance(action, tuple):
        raise ValueError(
            "the policy gives a tuple; expected an action (of Brax's make_policy, brax_policy makes a policy)"
        )
    elif getattr(action, "shape", None) != wanted.shape:
        raise ValueError(f"the policy gives {_described(action)}; expected an action of shape {wanted.shape}")


def _described(tree: Any) -> str:
    return ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(tree)) or "nothing"


def _num_places(env: MultiTaskEnv, num_episodes: int, state_bytes: int, max_bytes: int) -> int:
    """How many episodes run side by side; the others take the places of finished ones."""
    most = batch_size(state_bytes, num_episodes, max_bytes)
    few = jax.default_backend() == "cpu" and env.episode_length >= _LONG_EPISODE
    return min(most, _PLACES_ON_A_CPU) if few and num_episodes >= 4 * _PLACES_ON_A_CPU else most


def batch_size(state_bytes: int, num_episodes: int, max_bytes: int) -> int:
    """How many episodes run in parallel: in as few batches as fit, of sizes as equal as possible."""
    most = max(1, int(max_bytes) // max(_STATES_AT_ONCE * state_bytes, 1))
    return math.ceil(num_episodes / math.ceil(num_episodes / most))


@functools.partial(jax.jit, static_argnames=("env", "num_rollouts", "num_places"))
def _collect(
    env: MultiTaskEnv,
    policy: Policy,
    tasks: Any,
    key: jax.Array,
    num_rollouts: int,
    num_places: int,
) -> tuple[jax.Array, jax.Array]:
    """Returns and whether all actions were finite, both [n, m]."""
    total = count_tasks(tasks) * num_rollouts
    keys = jax.random.split(episode_key(key), total)
    if num_places == total:
        each = jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf), num_rollouts, axis=0), tasks)
        found = run_at_once(env, policy, each, keys)
    else:
        found = run_in_places(env, policy, tasks, keys, num_rollouts=num_rollouts, num_places=num_places)
    returns, finite = (part.reshape(-1, num_rollouts) for part in found)
    return jnp.where(finite, returns, jnp.nan), finite
