"""Episodes of one task, moment by moment."""

import functools
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxcert._validation import check_count, is_concrete
from jaxcert.rollouts._collect import check_shapes
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy, PolicyOrFunction, as_policy, episode_key
from jaxcert.rollouts._queue import followed
from jaxcert.tasks import ltl
from jaxcert.tasks.zones._robot import COLOURS, colours_at, has_left
from jaxcert.tasks.zones._zone_env import State, ZoneEnv

# How an episode can end.
OUTCOMES = ("left the square", "satisfied", "violated", "out of time")


class Trajectories(NamedTuple):
    """Episodes of one task, arrays with a leading axis [e]. Moment t comes after t steps, up to the longest episode.

    After the end of an episode its last moment is repeated.

    Attributes:
        positions: of the robot, in m from the middle; float[e, t, 2].
        headings: in rad; float[e, t].
        propositions: in zones of which colours the robot is; bool[e, t, 4].
        progress: state of the formula, as of ``ltl.step``; bool[e, t, depth + 1].
        stages: how many stages are passed, of the most advanced formula that is left, and all once it is satisfied;
            int32[e, t]. A violation does not change it.
        centres: of the zones; float[e, 4, 2, 2].
        num_steps: length of the episode; int32[e].
        outcomes: its end, as an index of ``OUTCOMES``; int32[e].
    """

    positions: jax.Array
    headings: jax.Array
    propositions: jax.Array
    progress: jax.Array
    stages: jax.Array
    centres: jax.Array
    num_steps: jax.Array
    outcomes: jax.Array


def trajectories(
    env: MultiTaskEnv, policy: PolicyOrFunction, task: ltl.ReachAvoid, key: chex.PRNGKey, *, num_episodes: int = 6
) -> Trajectories:
    """Episodes of one task, in one compiled call: the same whose returns ``rollouts.collect`` gives for this key.

    They are the same but for last bits, since XLA fuses what samples an action in another way in another program; few
    of them end otherwise for it (docs/zones.md).

    Args:
        env: the result of ``zones.env``.
        policy: as in ``rollouts.collect``.
        task: one task, such as ``env.sample_task`` or ``ltl.from_formula`` gives.
        key: a JAX random key.
        num_episodes: e.

    Returns:
        ``Trajectories`` of ``env.episode_length`` + 1 moments.

    Raises:
        TypeError: for what is no task.
        ValueError: for a task without a meaning, another environment, a policy that does not fit it, or an action that
            is not finite.

    Example:
        >>> from jaxcert.tasks import ltl, zones
        >>> task = ltl.from_formula(ltl.parse("!red U (green & F yellow)"), zones.COLOURS)
        >>> found = trajectories(zones.ENV, zones.steering_policy(), task, jax.random.key(0), num_episodes=3)
        >>> found.positions.shape
        (3, 1001, 2)
        >>> [OUTCOMES[i] for i in found.outcomes]
        ['satisfied', 'satisfied', 'satisfied']
    """
    check_count("num_episodes", num_episodes)
    formula_of(env, task)
    policy = as_policy(policy)
    check_shapes(env, policy, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], task))
    found, finite = _trajectories(env, policy, task, key, num_episodes)
    if is_concrete(finite) and not finite.all():
        raise ValueError(f"an action of the policy is not finite, in episode {int(jnp.argmin(finite))}")
    return found


def formula_of(env: MultiTaskEnv, task: ltl.ReachAvoid) -> ltl.Formula:
    """The formula of a task, if it is one of this world; TypeError or ValueError for another one."""
    if not isinstance(task, ltl.ReachAvoid):
        raise TypeError(f"task is {task!r}; expected an ltl.ReachAvoid, as ltl.from_formula gives it")
    formula = ltl.to_formula(task, COLOURS)
    environment = env.environment(task)
    if not isinstance(environment, ZoneEnv):
        raise ValueError(f"{type(environment).__name__} is another environment; expected one of zones.env()")
    return formula


@functools.partial(jax.jit, static_argnames=("env", "num_episodes"))
def _trajectories(
    env: MultiTaskEnv, policy: Policy, task: ltl.ReachAvoid, key: jax.Array, num_episodes: int
) -> tuple[Trajectories, jax.Array]:
    """The episodes, and whether all of their actions were finite, [e]."""
    keys = jax.random.split(episode_key(key), num_episodes)  # as ``collect`` does
    tasks = jax.tree.map(lambda leaf: jnp.stack([leaf] * num_episodes), task)
    end, moments = followed(env, policy, tasks, keys, jax.vmap(_moment), env.episode_length)
    moments = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), moments)
    found = Trajectories(
        *moments,
        stages=jax.vmap(lambda *episode: _stages(task, *episode))(moments[3], end.steps),
        centres=end.states.centres,
        num_steps=end.steps,
        outcomes=jax.vmap(_outcome)(end.states),
    )
    return found, end.finite


def _moment(state: State) -> tuple[jax.Array, ...]:
    """The first four fields of ``Trajectories``."""
    robot = state.robot
    return robot.position, robot.heading, colours_at(robot, state.centres), state.progress


def _stages(task: ltl.ReachAvoid, progress: jax.Array, num_steps: jax.Array) -> jax.Array:
    """Stages passed at each moment, from states [t, depth + 1]; a violated formula has no stage left to tell it by."""
    depth = progress.shape[-1] - 1
    most = jnp.minimum(depth - jnp.argmax(progress[:, ::-1], axis=-1).astype(jnp.int32), task.num_stages)
    before = most[jnp.maximum(num_steps - 1, 0)]
    return jnp.where(ltl.is_violated(progress), before, most)


def _outcome(state: State) -> jax.Array:
    """The first that holds; outside of the square nothing is satisfied any more."""
    progress = state.progress
    ends = [has_left(state.robot), ltl.is_satisfied(progress), ltl.is_violated(progress), jnp.ones((), bool)]
    return jnp.argmax(jnp.stack(ends)).astype(jnp.int32)
