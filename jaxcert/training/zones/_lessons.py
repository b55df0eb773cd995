"""A curriculum: easy tasks first, harder ones once these succeed."""

import dataclasses
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_number
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
        # Plain numbers, since those of NumPy cannot be written to the files of training.
        object.__setattr__(self, "success", float(self.success))
        for name, ends in self.ranges().items():
            object.__setattr__(self, name, tuple(map(int, ends)))

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
    """How far a learner has come.

    Attributes:
        lesson: from 0; after the last one come the tasks of the environment itself. int32[].
        num_episodes: episodes that ended since their success was looked at, int32[].
        num_successes: those of them that succeeded, int32[].
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
