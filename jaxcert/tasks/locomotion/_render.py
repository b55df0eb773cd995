"""Rendering of an episode, without a display."""

import contextlib
import copy
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.rollouts._mujoco_warnings import mujoco_warnings
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy, PolicyOrFunction, as_policy
from jaxcert.rollouts._queue import followed
from jaxcert.tasks._video import check_video_path, steps_per_frame, write_video
from jaxcert.tasks.locomotion._environments import Locomotion, Robot
from jaxcert.tasks.locomotion._task import KNOWN_WARNING, Task

_SHAPES = ("geom_size", "geom_pos", "body_pos")


def render(
    path: str | Path,
    env: MultiTaskEnv,
    policy: PolicyOrFunction,
    task: Task,
    key: chex.PRNGKey,
    *,
    num_steps: int = 300,
    frames_per_second: int = 25,
    size: tuple[int, int] = (320, 240),
    replace: bool = True,
) -> None:
    """Write a video of one episode.

    Args:
        path: ``.gif`` or ``.mp4``.
        env: the result of ``cheetah`` or ``walker``.
        policy: as in ``rollouts.collect``.
        task: mass and size.
        key: a JAX random key.
        num_steps: length of the episode.
        frames_per_second: frames per second of simulated time.
        size: width and height.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ImportError: if the extra ``brax`` is missing.
        ValueError: for another file type or environment.

    Example:
        >>> from jaxcert.tasks.locomotion import cheetah
        >>> task = Task(jnp.float32(1.3), jnp.float32(0.7))
        >>> policy = lambda obs, key: jnp.zeros(6)
        >>> render("video.gif", cheetah(), policy, task, jax.random.key(0))  # doctest: +SKIP
    """
    target = check_video_path(path, "brax")
    robot = _robot(env, task)
    seconds_per_step = float(robot.mj_model.opt.timestep) * robot.num_substeps
    every = steps_per_frame(seconds_per_step, frames_per_second)
    qpos = np.asarray(positions(env, as_policy(policy), task, key, num_steps=num_steps))[::every]
    with mujoco_warnings(KNOWN_WARNING):
        rate = 1 / (every * seconds_per_step)
        write_video(target, _frames(robot, task, qpos, size), rate, "brax", replace=replace)


def _robot(env: MultiTaskEnv, task: Task) -> Robot:
    environment = env.environment(task)
    if not isinstance(environment, Locomotion):
        raise ValueError(f"{type(environment).__name__} has no pictures; expected the cheetah or the walker")
    return environment.robot


@functools.partial(jax.jit, static_argnames=("env", "num_steps"))
def positions(env: MultiTaskEnv, policy: Policy, task: Task, key: jax.Array, *, num_steps: int) -> jax.Array:
    """Generalised positions of one episode, float [num_steps + 1, nq]."""
    tasks = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], task)
    return followed(env, policy, tasks, key[None], lambda states: states.data.qpos, num_steps)[1][:, 0]


def _frames(robot: Robot, task: Task, qpos: np.ndarray, size: tuple[int, int]) -> Iterator[np.ndarray]:
    mujoco = import_extra("mujoco", "brax")
    model = copy.deepcopy(robot.mj_model)
    fields = jax.jit(robot.scaled)(task)
    for name in _SHAPES:
        if name in fields:
            getattr(model, name)[:] = np.asarray(fields[name])
    data = mujoco.MjData(model)
    with _screen(*size):
        scene, camera = mujoco.MjvScene(model, maxgeom=1000), mujoco.MjvCamera()
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera("side").id
        context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
        area, pixels = mujoco.MjrRect(0, 0, *size), np.empty((size[1], size[0], 3), np.uint8)
        for place in qpos:
            data.qpos[:] = place
            mujoco.mj_forward(model, data)
            mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
            mujoco.mjr_render(area, scene, context)
            mujoco.mjr_readPixels(pixels, None, area, context)
            yield pixels[::-1].copy()
        context.free()


@contextlib.contextmanager
def _screen(width: int, height: int) -> Iterator[None]:
    """A rendering context. Without a display it is EGL, which MuJoCo uses only if told so before it is imported."""
    headless = sys.platform == "linux" and not os.environ.get("DISPLAY") and not os.environ.get("MUJOCO_GL")
    screen = import_extra("mujoco.egl" if headless else "mujoco", "brax").GLContext(width, height)
    screen.make_current()
    try:
        yield
    finally:
        screen.free()
