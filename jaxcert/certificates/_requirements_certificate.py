"""The answer about several requirements at once, of new tasks or of the tasks of a list."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates._answer import Answer
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import new_task_from
from jaxcert.certificates._figures import LISTED, ceil_figures, floor_figures, floor_to, nothing, of_tasks
from jaxcert.numerics._rounding import Side as Rounding
from jaxcert.numerics._rounding import cast_host
from jaxcert.returns._labels import enumerated, quoted
from jaxcert.returns._required import as_given


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RequirementsCertificate(Answer):
    """Certified share of new tasks, or number of tasks of a list, that meet several requirements at once; a pytree.

    With probability at least 1 - delta over the sampled tasks and rollouts: a new task from the same distribution meets
    all of the requirements, which were fixed before the data were seen, with probability at least ``safety``. Of a list
    of tasks, over the rollouts alone: at least ``num_good`` of them do, and ``safety`` is this number as a share.

    Attributes:
        thresholds: what each of the r sides requires, float[r]; rounded to where it requires more.
        low, high: the ends of the support of each, float[r]; 0 and 1 for successes; of two policies of both.
        missed: which tasks are not shown to meet each, bool[..., r, n].
        safety, epsilon: certified share of new tasks, rounded down, and certified risk, float[...].
        num_violations: k, tasks that are not shown to meet all of them, int32[...]; in a soft count those whose
            smallest evidence is at most 1.
        num_valid, status: n - k, and the code of ``Status``, int32[...].
        level: of each bound, or the largest that successes attain; of a soft count the weight; float[...].
        delta, num_tasks: failure probability, a scalar; and n (static).
        metrics: the metric of each side, by name (static).
        sides: "at least" or "at most", of each (static).
        of_successes: whether each is about a probability (static).
        bound: name of the bound of the metrics that are no successes (static).
        method: name of the method (static).
        complete: whether returns were declared to be of whole rollouts (static).
        question: by which name it was asked (static).
        source: "sampled", "listed" for the tasks of a fixed list, "reweighted" where tasks have weights, or the strata
            in words (static).
        frequencies: as of ``Certificate`` (static).
        quantity: "policy A minus that of policy B" if the metrics are those of two policies; "" of one (static).
        num_good: at least how many tasks of a list meet all of the requirements, int32[...]; of sampled ones 0.
        chosen: which of the levels that were tried counts, from 0, int32[...]; None where only one was.
        history: at every moment, the certified risk after each task, float[..., n]; None otherwise.
        max_weight: of weights, what none of them exceeds, rounded up; None without weights.
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("requirement"))
    low: jax.Array = dataclasses.field(metadata=along("requirement"))
    high: jax.Array = dataclasses.field(metadata=along("requirement"))
    missed: jax.Array = dataclasses.field(metadata=along("requirement", "task"))
    safety: jax.Array
    epsilon: jax.Array
    num_violations: jax.Array
    num_valid: jax.Array
    status: jax.Array
    level: jax.Array
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    metrics: tuple[str, ...] = dataclasses.field(metadata=STATIC)
    sides: tuple[str, ...] = dataclasses.field(metadata=STATIC)
    of_successes: tuple[bool, ...] = dataclasses.field(metadata=STATIC)
    bound: str = dataclasses.field(metadata=STATIC)
    method: str = dataclasses.field(metadata=STATIC)
    complete: bool = dataclasses.field(metadata=STATIC)
    question: str = dataclasses.field(metadata=STATIC)
    source: str = dataclasses.field(metadata=STATIC)
    quantity: str = dataclasses.field(metadata=STATIC)
    num_good: jax.Array
    frequencies: tuple[str, ...] | None = dataclasses.field(default=None, metadata=STATIC)
    chosen: Any = None
    history: Any = dataclasses.field(default=None, metadata=along("task"))
    max_weight: Any = None

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements, as lines that ``certify_requirements`` reads."""
        rows = zip(self._claims_of(self.metrics), self.of_successes, self.low, self.high, strict=True)
        return tuple(
            claim if binary else f"{claim} in {_decimal(low, 'down')} {_decimal(high, 'up')}"
            for claim, binary, low, high in rows
        )

    @property
    def beta(self) -> jax.Array:
        """The level; with an axis of one row where the data chose it."""
        return self.level if self.chosen is None else self.level[..., None]

    @property
    def by_bounds(self) -> bool:
        """Whether a task passes by bounds at one level that was given."""
        return self.method == "binomial" and self.chosen is None

    @property
    def num_missed(self) -> jax.Array:
        """How many tasks are not shown to meet each requirement, int32[..., r]."""
        return jnp.sum(self.missed, axis=-1, dtype=jnp.int32)

    @property
    def why_not_more(self) -> str:
        """On how many of the tasks each requirement is not shown, in words; empty where all are shown on all."""
        if not int(self.num_violations):
            return ""
        each = ", ".join(f"{what} on {n}" for what, n in zip(self.claims, self.num_missed.tolist(), strict=True))
        return f"{int(self.num_violations)} of {self.num_tasks} tasks are not shown to meet every requirement: {each}"

    @property
    def _numbers(self) -> list[str]:
        sides: list[Rounding] = ["up" if side == SIDES[0] else "down" for side in self.sides]
        return [_decimal(value, side) for value, side in zip(self.thresholds, sides, strict=True)]

    @property
    def claims(self) -> list[str]:
        """The requirements without the supports, in words, such as "cost <= 25"."""
        return self._claims_of(map(quoted, self.metrics))

    def _claims_of(self, names: Iterable[str]) -> list[str]:
        rows = zip(names, self.sides, self._numbers, strict=True)
        return [f"{name} {'>=' if side == SIDES[0] else '<='} {number}" for name, side, number in rows]

    @property
    def _required(self) -> str:
        """All requirements in words."""
        rows = zip(self.of_successes, self.metrics, self.sides, self._numbers, strict=True)
        of = f" of {self.quantity}" if self.quantity else ""
        each = [
            f"the {'probability of' if binary else 'expected'} {quoted(metric)}{of} is {side} {number}"
            for binary, metric, side, number in rows
        ]
        return f"{enumerated(each)}{', all at once,' if each[1:] else ''}"

    def _told(self, index: int) -> str:
        (safety,), note, what = self._held(index, "safety"), self._note(index), self._required.rstrip(",")
        n, good, task = self.num_tasks, int(self.num_good), new_task_from(self.source)
        if self.source == LISTED:
            if not good:
                return nothing(f"the number of these {n} tasks on which {what}", note)
            return f"on {of_tasks(good, n)}, {what}.{note}"
        if not safety > 0:
            return nothing(f"whether {what}", note)
        return f"on {task}, {self._required} with probability at least {floor_to(safety, 4)}.{note}"


SIDES = "at least", "at most"
# With up to so many rollouts of each task, other methods often certify more than bounds at one level.
FEW_ROLLOUTS = 40
OTHER_METHODS = (
    "With so few rollouts of each task, --method soft or --beta auto often certify more, if chosen before the data"
)


def _decimal(value: Any, side: Rounding) -> str:
    """The decimal of which a number is the rounded one, or the number itself."""
    number = np.asarray(value)
    shown = (floor_figures if side == "up" else ceil_figures)(float(number), 7)
    same_number = np.isfinite(number) and cast_host(np.asarray(float(shown)), number.dtype, side) == number
    return shown if same_number else as_given(number)
