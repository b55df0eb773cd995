"""Lessons and settings of training in zones."""

import dataclasses
import math
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_number
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks import ltl
from jaxcert.tasks.zones import COLOURS


@dataclasses.dataclass(frozen=True)
class Lesson:
    """Tasks of one part of a curriculum, and the success at which the next part begins.

    Attributes:
        num_stages: the smallest and the largest number of stages of a task.
        num_reach: the smallest and the largest number of colours to reach in a stage.
        num_avoid: the smallest and the largest number of colours to avoid in a stage.
        success: the share of episodes that has to succeed, in (0, 1].

    Raises:
        ValueError: for a success that is no number in (0, 1]; for a range that is no tuple, and for others as
            ``ltl.sample_reach_avoid`` does.

    Example:
        >>> Lesson((1, 1), (1, 1), (0, 0), success=0.9).num_stages
        (1, 1)
    """

    num_stages: tuple[int, int]
    num_reach: tuple[int, int]
    num_avoid: tuple[int, int]
    success: float

    def __post_init__(self) -> None:
        check_number("success of a lesson", self.success, lambda x: 0 < x <= 1, "a number in (0, 1]")
        for name, ends in self.ranges().items():
            if not isinstance(ends, tuple):
                raise ValueError(f"{name} is {ends!r}; expected a tuple of two whole numbers")
        jax.eval_shape(lambda: ltl.sample_reach_avoid(jax.random.key(0), len(COLOURS), depth=99, **self.ranges()))

    def ranges(self) -> dict[str, Any]:
        """The arguments of ``ltl.sample_reach_avoid``."""
        return {name: getattr(self, name) for name in ("num_stages", "num_reach", "num_avoid")}


# As in DeepLTL, without its tasks to stay in a zone, which no task of the paper asks for.
LESSONS = (
    Lesson((1, 1), (1, 1), (0, 0), success=0.9),
    Lesson((2, 2), (1, 1), (0, 0), success=0.95),
    Lesson((1, 1), (1, 1), (1, 1), success=0.95),
    Lesson((2, 2), (1, 1), (1, 1), success=0.9),
    Lesson((1, 2), (1, 2), (0, 2), success=0.9),
)


class Progress(NamedTuple):
    """How far a learner has come; after the last lesson come the tasks of the environment itself.

    The two counts are of the episodes that ended since their success was looked at, and of those that succeeded.
    """

    lesson: jax.Array
    num_episodes: jax.Array
    num_successes: jax.Array


def next_progress(
    progress: Progress, lessons: tuple[Lesson, ...], window: int, num_episodes: jax.Array, num_successes: jax.Array
) -> Progress:
    """Count episodes; once there are as many as the window, look at their success and begin a new count."""
    episodes, successes = progress.num_episodes + num_episodes, progress.num_successes + num_successes
    wanted = jnp.asarray([*(lesson.success for lesson in lessons), np.inf], jnp.float32)[progress.lesson]
    full = episodes >= window
    passed = full & (successes.astype(jnp.float32) >= wanted * episodes.astype(jnp.float32))
    left = [jnp.where(full, 0, count) for count in (episodes, successes)]
    return Progress(progress.lesson + passed.astype(jnp.int32), *left)


def sample_lesson_task(
    key: chex.PRNGKey, env: MultiTaskEnv, lessons: tuple[Lesson, ...], lesson: jax.Array
) -> ltl.ReachAvoid:
    """A task of a lesson; of the environment after the last one."""
    own = env.sample_task(key)
    if not lessons:
        return own
    at = jnp.minimum(lesson, len(lessons) - 1)
    ranges = {name: [each.ranges()[name] for each in lessons] for name in lessons[0].ranges()}
    here = {name: jnp.asarray(ends, jnp.int32)[at] for name, ends in ranges.items()}
    easier = ltl.sample_reach_avoid(key, len(COLOURS), depth=own.reach.shape[0], **here)
    return jax.tree.map(lambda a, b: jnp.where(lesson < len(lessons), a, b), easier, own)


# What is allowed of each setting that is a real number, and the same in words.
_POSITIVE = (lambda x: 0 < x < math.inf), "a positive number"
_NOT_NEGATIVE = (lambda x: 0 <= x < math.inf), "a finite number of at least 0"
_SHARE = (lambda x: 0 <= x <= 1), "a number in [0, 1]"
_RANGES = {
    "discounting": _SHARE,
    "gae_lambda": _SHARE,
    "clipping": _POSITIVE,
    "entropy_cost": _NOT_NEGATIVE,
    "value_cost": _NOT_NEGATIVE,
    "learning_rate": _POSITIVE,
    "max_gradient_norm": _POSITIVE,
}


@dataclasses.dataclass(frozen=True)
class ZonesSettings:
    """Settings of PPO on zones.

    The defaults are DeepLTL's, but for smaller batches, fewer passes and a learning rate that begins higher and falls:
    on two cores, training then takes a third of the time.

    Attributes:
        num_timesteps: total number of environment steps, rounded up to whole batches.
        num_envs: environments in parallel.
        unroll_length: steps of each environment per batch.
        num_minibatches: minibatches per batch.
        num_updates_per_batch: passes over each batch.
        discounting: discount of PPO, not of the certified return.
        gae_lambda: weight of longer returns in the estimate of advantages.
        clipping: how far the ratio of probabilities may leave 1.
        entropy_cost: weight of the entropy.
        value_cost: weight of the critic's squared error.
        learning_rate: learning rate of Adam at first; it falls to 0 at the end.
        max_gradient_norm: longer gradients are shortened to it.
        lessons: the curriculum; the tasks of the environment come after it.
        window: number of episodes over which the success of a lesson is counted.
        num_evals: number of evaluations and checkpoints, the first before training.
        num_eval_envs: episodes of each evaluation, each of another task of the environment.
        seed: seed of everything in training, a whole number in [0, 2^32).

    Raises:
        ValueError: for numbers without meaning, lessons that are no tuple of ``Lesson``, and batches that do not
            divide into minibatches.

    Example:
        >>> settings = ZonesSettings(num_timesteps=100_000, num_envs=64, seed=1)
        >>> settings.num_batches, settings.num_steps
        (13, 106496)
    """

    num_timesteps: int = 25_000_000
    num_envs: int = 128
    unroll_length: int = 128
    num_minibatches: int = 8
    num_updates_per_batch: int = 6
    discounting: float = 0.998
    gae_lambda: float = 0.95
    clipping: float = 0.2
    entropy_cost: float = 0.003
    value_cost: float = 0.5
    learning_rate: float = 1e-3
    max_gradient_norm: float = 0.5
    lessons: tuple[Lesson, ...] = LESSONS
    window: int = 512
    num_evals: int = 26
    num_eval_envs: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.type in (int, float):
                _check(field.name, getattr(self, field.name))
        if not isinstance(self.lessons, tuple) or not all(isinstance(lesson, Lesson) for lesson in self.lessons):
            raise ValueError(f"lessons is {self.lessons!r}; expected a tuple of Lesson")
        if self.batch_length % self.num_minibatches:
            raise ValueError(
                f"{self.num_envs} environments with {self.unroll_length} steps do not divide into"
                f" {self.num_minibatches} minibatches"
            )

    @property
    def num_steps(self) -> int:
        """Steps of all environments in all batches."""
        return self.num_batches * self.batch_length

    @property
    def batch_length(self) -> int:
        """Steps of all environments in a batch."""
        return self.num_envs * self.unroll_length

    @property
    def num_batches(self) -> int:
        """Batches in all."""
        return -(-self.num_timesteps // self.batch_length)


def _check(name: str, value: Any) -> None:
    """Raise ValueError for a number without a meaning as this setting."""
    if name == "seed":
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < 2**32:
            raise ValueError(f"seed is {value!r}; expected a whole number in [0, 2^32)")
    elif name in _RANGES:
        check_number(name, value, *_RANGES[name])
    else:
        check_count(name, value)
