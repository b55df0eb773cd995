"""How episodes of environments are drawn, for commands that know an environment by its name alone."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax.numpy as jnp

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks import locomotion, ltl, zones


class Pictures(NamedTuple):
    """How episodes of an environment are drawn.

    Attributes:
        extra: what has to be installed for videos.
        options: names of what describes a task.
        task: from the environment, a key and those options that are given, by name, to a task.
        describe: the task in words.
        video: writes an episode; from a path, environment, policy, task, key, a number of steps or None, and whether to
            replace a file.
        figure: several episodes as a matplotlib figure; from environment, policy, task, key and steps. None if there is
            no such figure.
    """

    extra: str
    options: tuple[str, ...]
    task: Callable[..., Any]
    describe: Callable[[Any], str]
    video: Callable[..., None]
    figure: Callable[..., Any] | None = None


def _scaled_robot(env: MultiTaskEnv, key: chex.PRNGKey, *, mass: float = 1.0, size: float = 1.0) -> locomotion.Task:
    for name, value in {"mass": mass, "size": size}.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}; expected a positive number")
    return locomotion.Task(jnp.float32(mass), jnp.float32(size))


def _robot_video(
    path: Any, env: MultiTaskEnv, policy: Any, task: Any, key: chex.PRNGKey, steps: int | None, *, replace: bool
) -> None:
    render = locomotion.render if steps is None else functools.partial(locomotion.render, num_steps=steps)
    render(path, env, policy, task, key, replace=replace)


def _scales(task: locomotion.Task) -> str:
    return f"mass {task.mass_scale:g}, size {task.size_scale:g}"


ROBOTS = Pictures("brax", ("mass", "size"), _scaled_robot, _scales, _robot_video)


def _formula_task(env: MultiTaskEnv, key: chex.PRNGKey, *, formula: str | None = None) -> ltl.ReachAvoid:
    """The task of this formula; without one, a random task."""
    if formula is None:
        return env.sample_task(key)
    try:
        return ltl.from_formula(ltl.parse(formula), zones.COLOURS)
    except ValueError as error:  # without the line that points to the place, which needs a line of its own
        raise ValueError(str(error).splitlines()[0]) from error


def _at_most(env: MultiTaskEnv, steps: int | None) -> MultiTaskEnv:
    return env if steps is None else dataclasses.replace(env, episode_length=steps)


ZONES = Pictures(
    "zones",
    ("formula",),
    _formula_task,
    lambda task: str(ltl.to_formula(task, zones.COLOURS)),
    lambda path, env, policy, task, key, steps, *, replace: zones.render(
        path, _at_most(env, steps), policy, task, key, replace=replace
    ),
    lambda env, policy, task, key, steps: zones.plot_trajectories(_at_most(env, steps), policy, task, key),
)
