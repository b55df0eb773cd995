"""What is said of each task of a fixed list: which are good, and which are bad."""

import dataclasses
from typing import ClassVar

import jax
import numpy as np

from jaxcert.certificates._access import ByThreshold
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import Status, with_article
from jaxcert.certificates._figures import floor_figures
from jaxcert.certificates._headline import LISTED, Headline, InWords, nothing, of_tasks, reach


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TasksCertificate(InWords, ByThreshold):
    """Which tasks of a fixed list are good, and which are bad, at each threshold; a pytree of arrays.

    With probability at least 1 - delta over the rollouts, at each threshold B that was fixed beforehand: every task
    that is named good has J >= B, and every task that is named bad has J < B.

    Attributes:
        thresholds: B, float[t].
        num_good: how many tasks are named good, int32[..., t].
        num_bad: how many are named bad, int32[..., t].
        status: codes of ``Status``, int32[..., t].
        good: which tasks are named good, bool[..., n, t].
        bad: which are named bad, bool[..., n, t].
        delta: failure probability at each threshold, a scalar.
        num_tasks: n (static).
        bound: name of the bound per task (static).
        quantity: what the thresholds are thresholds of, in words (static).
        complete: whether bad tasks are named, too (static).
        tasks: the names of the tasks, by default their places in the list, from 0 (static).

    Example:
        >>> import numpy as np
        >>> from jaxcert import certify_each_task
        >>> passed = np.arange(30) < np.array([30, 29, 22, 9, 30])[:, None]
        >>> print(certify_each_task(passed, 0.6, delta=0.05, tasks=["pick", "place", "pour", "fold", "push"]))
        With confidence 0.95: the probability of success is at least 0.6 on pick, place, push (3 of 5).
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("threshold", column="threshold"))
    num_good: jax.Array = dataclasses.field(metadata=along("threshold"))
    num_bad: jax.Array = dataclasses.field(metadata=along("threshold"))
    status: jax.Array = dataclasses.field(metadata=along("threshold"))
    good: jax.Array = dataclasses.field(metadata=along("task", "threshold"))
    bad: jax.Array = dataclasses.field(metadata=along("task", "threshold"))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    quantity: str = dataclasses.field(metadata={"static": True})
    complete: bool = dataclasses.field(metadata={"static": True})
    tasks: tuple[str, ...] = dataclasses.field(metadata={"static": True, **along("task", column="task")})

    source = LISTED

    _shown: ClassVar = ("thresholds", "num_good", "num_bad", "delta", "num_tasks", "bound", "complete")

    def _sentence(self, index: int) -> str:
        shown, status = floor_figures(float(self.thresholds[index])), Status(int(self.status[index]))
        good, bad = (self._named(np.asarray(each)[:, index]) for each in (self.good, self.bad))
        note = f" ({status.advice})" if status is Status.INVALID_INPUT else ""
        if not (good or bad):
            return f"{self._start}: no task is known to have {with_article(self.quantity)} of at least {shown}.{note}"
        parts = [f"at least {shown} on {good}"] * bool(good) + [f"below {shown} on {bad}"] * bool(bad)
        return f"{self._start}: the {self.quantity} is {', and '.join(parts)}.{note}"

    def _headline(self, index: int) -> Headline:
        good, bad, n = int(self.num_good[index]), int(self.num_bad[index]), self.num_tasks
        what = f"{with_article(self.quantity)} of {floor_figures(float(self.thresholds[index]))}"
        not_so = "does not" if bad == 1 else "do not"
        if not (good or bad):
            return nothing(f"about which of these {n} tasks reach {what}, {self._sure}")
        if not good:
            return Headline(of_tasks(bad, n), f"{not_so} reach {what}, {self._sure}")
        others = f", and {bad} {not_so}" if bad else ""
        return Headline(of_tasks(good, n), f"{reach(good)} {what}{others}, {self._sure}")

    def _named(self, chosen: np.ndarray) -> str:
        """Tasks by their names, and how many of all they are; empty for none."""
        names = [self.tasks[i] for i in np.flatnonzero(chosen)]
        kind = ("task " if len(names) == 1 else "tasks ") if all(map(str.isdecimal, self.tasks)) else ""
        return f"{kind}{', '.join(names)} ({len(names)} of {self.num_tasks})" if names else ""
