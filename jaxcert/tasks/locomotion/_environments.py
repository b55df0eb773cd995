"""The two robots as environments of a task."""

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks.locomotion._task import Fields, Task, Torso, as_the_authors, physical, sample_task

EPISODE_LENGTH = 1000


class State(NamedTuple):
    """The state of one episode: the data of MJX, and the fields of its model that the task changes; done if NaN."""

    data: Any
    fields: Fields
    obs: jax.Array
    reward: jax.Array
    done: jax.Array


@dataclasses.dataclass(frozen=True, eq=False)
class Robot:
    """The parts that the tasks of a robot share: its model at scale 1, for MuJoCo and for MJX, and five functions.

    Attributes:
        scaled: from a task to the fields of its model.
        start: from a key to the initial positions.
        observe: from data and a task to an observation.
        reward: from data to a reward in [0, 1].
        num_substeps: simulation steps per step of control.
    """

    mj_model: Any
    model: Any
    scaled: Callable[[Task], Fields]
    start: Callable[[jax.Array], jax.Array]
    observe: Callable[[Any, Task], jax.Array]
    reward: Callable[[Any], jax.Array]
    num_substeps: int


@dataclasses.dataclass(frozen=True)
class Locomotion:
    """A robot with the masses and the size of a task."""

    robot: Robot
    task: Task

    @property
    def action_size(self) -> int:
        """Number of motors."""
        return self.robot.model.nu

    def reset(self, rng: jax.Array) -> State:
        """A random posture at rest."""
        mjx = import_extra("mujoco.mjx", "brax")
        fields = self.robot.scaled(self.task)
        model = self.robot.model.replace(**fields)
        data = mjx.forward(model, mjx.make_data(model).replace(qpos=self.robot.start(rng)))
        return self._state(data, fields, jnp.zeros(()))

    def step(self, state: State, action: jax.Array) -> State:
        """One step of control: several simulation steps with the same action, whose entries are clipped to [-1, 1]."""
        mjx = import_extra("mujoco.mjx", "brax")
        model = self.robot.model.replace(**state.fields)
        held = state.data.replace(ctrl=action)
        data, _ = jax.lax.scan(lambda data, _: (mjx.step(model, data), None), held, length=self.robot.num_substeps)
        return self._state(data, state.fields, self.robot.reward(data))

    def _state(self, data: Any, fields: Fields, reward: jax.Array) -> State:
        lost = jnp.any(jnp.isnan(data.qpos)) | jnp.any(jnp.isnan(data.qvel))
        return State(data, fields, self.robot.observe(data, self.task), reward, lost.astype(jnp.float32))


def cheetah(*, authors_version: bool = False) -> MultiTaskEnv:
    """A running cheetah, with a reward of speed / 10, at most 1.

    Args:
        authors_version: the environment of the paper's authors. There the subtree mass is not rescaled, so that the
            reward depends on mass times speed, and for pitching the torso has the inertia of a thin rod about its
            own axis.

    Returns:
        Tasks of 1000 steps with returns in [0, 1000]; observations float[19], actions float[6].

    Raises:
        ImportError: if the extra ``brax`` is missing.

    Example:
        >>> env = cheetah()  # doctest: +SKIP
        >>> env.environment(Task(jnp.float32(1), jnp.float32(1))).reset(jax.random.key(0)).obs.shape  # doctest: +SKIP
        (19,)
    """
    return _multi_task("CheetahRun", _cheetah, authors_version=authors_version)


def walker(*, authors_version: bool = False) -> MultiTaskEnv:
    """A walker that runs upright, at a target speed of 6.

    Args:
        authors_version: the environment of the paper's authors. There the torso's size changes only the contact
            geometry, the reward depends on mass times speed, and the observation ends with a constant 0.

    Returns:
        Tasks of 1000 steps with returns in [0, 1000]; observations float[26] (27 in the authors' version), actions
        float[6].

    Raises:
        ImportError: if the extra ``brax`` is missing.

    Example:
        >>> env = walker()  # doctest: +SKIP
        >>> env.support  # doctest: +SKIP
        (0.0, 1000.0)
    """
    return _multi_task("WalkerRun", _walker, authors_version=authors_version)


@functools.lru_cache  # so that equal environments share compiled programs
def _multi_task(of_playground: str, build: Callable[..., Robot], *, authors_version: bool) -> MultiTaskEnv:
    suite = import_extra("mujoco_playground", "brax").dm_control_suite
    with _without_known_warning():
        base = suite.load(of_playground, config_overrides={"impl": "jax"})
    robot = build(base.mj_model, base.mjx_model, authors_version=authors_version)
    environment, support = functools.partial(Locomotion, robot), (0.0, float(EPISODE_LENGTH))
    return MultiTaskEnv(environment, sample_task, EPISODE_LENGTH, support)


# Of MuJoCo, about an attribute in a model file of Playground, which a user cannot change.
_KNOWN_WARNING = "settotalmass"


@contextlib.contextmanager
def _without_known_warning() -> Iterator[None]:
    """A context in which MuJoCo's other warnings are Python's, and none is written to a file in the current folder."""
    mujoco = import_extra("mujoco", "brax")
    before = mujoco.get_mju_user_warning()

    def warn(text: str) -> None:
        if _KNOWN_WARNING not in text:
            warnings.warn(f"MuJoCo: {text}", RuntimeWarning, stacklevel=2)

    mujoco.set_mju_user_warning(warn)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _cheetah(mj: Any, model: Any, *, authors_version: bool) -> Robot:
    head = mj.geom("head").id
    torso = _torso(mj, along=0, moved_geoms=(head,), moved_bodies=("bthigh", "fthigh"))
    scaled = functools.partial(as_the_authors, cylinder=True) if authors_version else physical

    def start(key: jax.Array) -> jax.Array:
        return jnp.concatenate([jnp.zeros(3), _joints(mj, key)])

    def observe(data: Any, task: Task) -> jax.Array:
        return jnp.concatenate([data.qpos[1:], data.qvel, _logs(task)])

    def reward(data: Any) -> jax.Array:
        return jnp.clip(_speed(mj, data) / 10, 0, 1)

    return Robot(mj, model, functools.partial(scaled, model, torso), start, observe, reward, num_substeps=1)


def _walker(mj: Any, model: Any, *, authors_version: bool) -> Robot:
    torso = _torso(mj, along=2, moved_geoms=(), moved_bodies=("right_thigh", "left_thigh"))
    scaled = functools.partial(as_the_authors, cylinder=False) if authors_version else physical
    body = torso.body

    def start(key: jax.Array) -> jax.Array:
        key_pitch, key_joints = jax.random.split(key)
        pitch = jax.random.uniform(key_pitch, (1,), minval=-np.pi, maxval=np.pi)
        return jnp.concatenate([jnp.zeros(2), pitch, _joints(mj, key_joints)])

    def observe(data: Any, task: Task) -> jax.Array:
        seen = [data.xmat[1:, 0, ::2].ravel(), data.xmat[body, 2, 2:], data.qvel, _logs(task)]
        return jnp.concatenate([*seen, jnp.zeros(1)] if authors_version else seen)

    def reward(data: Any) -> jax.Array:
        short = jnp.clip((1.2 - data.xpos[body, 2]) / 0.6, 0, None)
        standing, upright = 0.1 ** (short**2), (1 + data.xmat[body, 2, 2]) / 2
        move = jnp.clip(_speed(mj, data) / 6, 0, 1)
        return jnp.clip((3 * standing + upright) / 4 * (5 * move + 1) / 6, 0, 1)

    return Robot(mj, model, functools.partial(scaled, model, torso), start, observe, reward, num_substeps=10)


def _torso(mj: Any, *, along: int, moved_geoms: tuple[int, ...], moved_bodies: tuple[str, ...]) -> Torso:
    geom = mj.geom("torso").id
    radius, half = mj.geom_size[[geom, *moved_geoms], :2].T
    volume = radius**2 * (2 * half + 4 * radius / 3)
    bodies = tuple(mj.body(name).id for name in moved_bodies)
    return Torso(mj.body("torso").id, geom, along, moved_geoms, bodies, volume / volume.sum())


def _joints(mj: Any, key: jax.Array) -> jax.Array:
    low, high = (jnp.asarray(end, jnp.float32) for end in mj.jnt_range[3:].T)
    return low + (high - low) * jax.random.uniform(key, (mj.nq - 3,))


def _logs(task: Task) -> jax.Array:
    return jnp.log(jnp.stack(task))


def _speed(mj: Any, data: Any) -> jax.Array:
    """The forward speed of the whole robot, from its sensor."""
    return data.sensordata[mj.sensor("torso_subtreelinvel").adr[0]]
