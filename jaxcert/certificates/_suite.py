"""Certify how many tasks of a fixed list are good: all tasks of the list are run, none is sampled."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound
from jaxcert.certificates._answer import ByThreshold
from jaxcert.certificates._attained import Tried
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import answer, with_article
from jaxcert.certificates._counting import status_where, valid_rows, where_smallest
from jaxcert.certificates._episode import IN_A_ROW, in_a_row
from jaxcert.certificates._figures import LISTED, floor_figures, nothing, of_tasks
from jaxcert.certificates._levels import LISTED_TASKS
from jaxcert.certificates._question import Question, Rows
from jaxcert.certificates._registry import Returns, bound_for, thresholds_of
from jaxcert.certificates._suite_counts import allowances, passes, tried_for
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._programs import quickly
from jaxcert.returns._labels import quoted
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import Sample, padded_rows, placed, sample_of


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SuiteCertificate(ByThreshold):
    """How many tasks of a fixed list are good at each threshold, or which of them; a pytree of arrays.

    With probability at least 1 - delta over the rollouts, at each threshold B that was fixed beforehand: at least
    ``num_good`` of these tasks have J >= B and, at the same time, of every part of the list at least as many as
    ``among`` says. Where tasks are named, every task that is named good has J >= B, and every task that is named bad
    has J < B. It says nothing about tasks that are not in the list.

    Attributes:
        thresholds: B, float[t].
        num_good: at least how many of the tasks have J >= B, int32[..., t]: as many as are named, where tasks are.
        status: codes of ``Status``, int32[..., t].
        delta: failure probability at each threshold, a scalar.
        num_tasks, bound, quantity, question: as of ``Certificate`` (static).
        num_episodes: k, trials in a row that all succeed with the probability of a threshold (static).
        num_violations: k at the level that says most, the tasks that do not pass, int32[..., t]. This and the three
            that follow are None where tasks are named.
        violations: tasks that do not pass, at each of the levels, bool[..., levels, n, t].
        allowance: how many of the others may be bad, at each of the levels, int32[..., levels, t].
        betas: the levels, float[levels].
        num_bad: how many tasks are named bad, int32[..., t]. This and all below are None where tasks are counted.
        good: which tasks are named good, bool[..., n, t].
        bad: which are named bad, bool[..., n, t].
        complete: whether bad tasks are named, too (static).
        tasks: the names of the tasks, by default their places in the list, from 0 (static).
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("threshold", column="threshold"))
    num_good: jax.Array = dataclasses.field(metadata=along("threshold"))
    status: jax.Array = dataclasses.field(metadata=along("threshold"))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    bound: str = dataclasses.field(metadata=STATIC)
    quantity: str = dataclasses.field(metadata=STATIC)
    question: str = dataclasses.field(metadata=STATIC)
    num_episodes: int = dataclasses.field(default=1, metadata=STATIC)
    num_violations: Any = dataclasses.field(default=None, metadata=along("threshold"))
    violations: Any = dataclasses.field(default=None, metadata=along("level", "task", "threshold"))
    allowance: Any = dataclasses.field(default=None, metadata=along("level", "threshold"))
    betas: Any = dataclasses.field(default=None, metadata=along("level", column="level"))
    num_bad: Any = dataclasses.field(default=None, metadata=along("threshold"))
    good: Any = dataclasses.field(default=None, metadata=along("task", "threshold"))
    bad: Any = dataclasses.field(default=None, metadata=along("task", "threshold"))
    complete: bool | None = dataclasses.field(default=None, metadata=STATIC)
    tasks: Any = dataclasses.field(default=None, metadata=STATIC | along("task", column="task"))

    source = LISTED

    @property
    def chosen(self) -> jax.Array:
        """The index of the level that certifies most, int[..., t], where tasks are counted."""
        return jnp.argmin(jnp.sum(self.violations, axis=-2, dtype=np.int32) + self.allowance, axis=-2)

    def among(self, tasks: Array | Sequence[int]) -> jax.Array:
        """At least how many of some tasks have J >= B, int32[..., t]; for all parts of the list in one event.

        So the part may be chosen after seeing the results. With k_R tasks of it that do not pass and x tasks of the
        list that pass and may be bad, at most k_R + x of it are bad, at the level where this is least.

        Args:
            tasks: their places in the list, int[r], or which of them they are, bool[n].

        Raises:
            IndexError: a place that is not in the list.
            ValueError: for ``certify_each_task``.

        Example:
            >>> import numpy as np
            >>> from jaxcert import certify_suite
            >>> passed = np.arange(10) < np.tile([10, 10, 9, 10, 2], 8)[:, None]
            >>> print(certify_suite(passed, 0.5, delta=0.05).among(range(0, 40, 5)))  # eight with ten of ten
            [7]
        """
        if self.violations is None:
            raise ValueError("this certificate names its good tasks; parts of a list are counted by certify_suite")
        part = np.zeros(self.num_tasks, bool)
        part[np.asarray(tasks)] = True
        inside = jnp.sum(self.violations[..., part, :], axis=-2, dtype=np.int32)
        return jnp.max(jnp.maximum(part.sum() - inside - self.allowance, 0), axis=-2)

    def _told(self, index: int) -> str:
        threshold, good = self._held(index, "thresholds", "num_good")
        shown, what, n, note = floor_figures(threshold), with_article(self.quantity), self.num_tasks, self._note(index)
        if self.tasks is not None:
            return self._named(index, what, shown, note)
        if not good:
            return nothing(f"how many of these {n} tasks have {what} of at least {shown}", after=note)
        return f"on {of_tasks(good, n)}, the {self.quantity} is at least {shown}.{note}"

    def _named(self, index: int, what: str, shown: str, note: str) -> str:
        """With the names of the tasks."""
        good, bad = (self._names(np.asarray(each)[:, index]) for each in (self.good, self.bad))
        if not (good or bad):
            return f"no task is known to have {what} of at least {shown}.{note}"
        parts = [f"at least {shown} on {good}"] * bool(good) + [f"below {shown} on {bad}"] * bool(bad)
        return f"the {self.quantity} is {', and '.join(parts)}.{note}"

    def _names(self, chosen: np.ndarray) -> str:
        """Tasks by their names, and how many of all they are; empty for none."""
        names = [quoted(self.tasks[i]) for i in np.flatnonzero(chosen)]
        kind = ("task " if len(names) == 1 else "tasks ") if all(map(str.isdecimal, self.tasks)) else ""
        return f"{kind}{', '.join(names)} ({len(names)} of {self.num_tasks})" if names else ""


def certify_suite(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str | None = None,
    num_episodes: int = 1,
    where: Array | None = None,
    validate: bool = True,
) -> SuiteCertificate:
    r"""Certify on how many tasks of a fixed list a policy performs well.

    A benchmark is a list: all of its n tasks are run, and no task is drawn from a distribution. Only the rollouts are
    random, independent within and between tasks. At each threshold B, fixed before the data are seen:

    .. math:: P\big[\, \#\{i : J_i \ge B\} \ge n - k - x \,\big] \ge 1 - \delta,

    one-sided, where k tasks have a lower bound below B and x is the largest number for which k violations or fewer are
    not too unlikely, if the k and x others are bad: each passes with a probability of at most its level. The
    bounds are taken at levels of 0.01, 0.05, 0.2 and 0.5, each of which has an equal share of delta, and the best of
    them counts. For successes, a task passes with enough of them, as in ``certify``: with numbers that have levels near
    these, whose own levels, the probabilities of these numbers at J = B, count.

    Args:
        returns: float[..., n, m] or bool, m rollouts of a fixed policy on each of the n tasks, as in ``certify``; or a
            summary; or two policies on one list (``paired``), whose differences are counted.
        thresholds: float[t], or a scalar for one; wanted expected returns B, or margins for pairs.
        support, bound, where, validate: as in ``certify``. Tasks may have different numbers of rollouts.
        delta: failure probability at each threshold, in (0, 1); a scalar.
        num_episodes: k, of successes of one policy: a threshold is the probability, in (0, 1], that k trials in a row
            on the task all succeed, J^k for independent ones (pass^k).

    Returns:
        A ``SuiteCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``.

    Example:
        >>> import numpy as np
        >>> counts = np.r_[np.full(38, 47), 30, 31]  # successes of 50 trials of each task
        >>> found = certify_suite(np.arange(50) < counts[:, None], [0.7, 0.8], delta=0.05)
        >>> print(found)
        With confidence 0.95: on at least 37 of these 40 tasks, the probability of success is at least 0.7.
        With confidence 0.95: on at least 37 of these 40 tasks, the probability of success is at least 0.8.
        >>> print(certify_suite(np.arange(50) < counts[:, None], 0.5, num_episodes=4, delta=0.05))
        With confidence 0.95: on at least 37 of these 40 tasks,
        the probability that the next 4 trials all succeed is at least 0.5.

    Reference: the theory page, section 22; its equations (22.1) and (22.2).
    """
    per_task, returns = bound_for(bound, returns, support, where)
    sample = sample_of(per_task, returns, support, where, validate)
    dtype = sample.dtype
    row = thresholds_of(sample, thresholds, validate)
    needed, quantity = in_a_row(row, num_episodes, per_task, returns, validate)
    delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    rows = padded_rows(needed, sample)
    tried = tried_for(per_task, sample, rows, delta)
    fields = _counted(per_task, *placed((sample, rows, delta, tried)))
    fields |= {"thresholds": padded_rows(row, sample), "betas": np.asarray(LISTED_TASKS.levels, dtype), "delta": delta}
    settings = {"bound": per_task.name, "quantity": quantity, "num_episodes": num_episodes, "question": "suite"}
    return answer(SuiteCertificate, fields, sample.num_tasks, len(row), **settings)


@functools.partial(quickly, static_argnums=0)
def _counted(bound: Bound, sample: Sample, thresholds, delta, tried: Tried | None) -> dict[str, jax.Array]:
    found, n = passes(bound, sample, thresholds, delta, tried), sample.num_tasks
    violations, allowance = allowances(found, delta, n, tried)
    k = jnp.sum(violations, axis=-2, dtype=np.int32)
    bad = k + allowance
    good, k = where_smallest(bad, (n - bad, k), axis=-2)
    valid = valid_rows(found.valid | ~in_front(found.valid, n), thresholds, delta)
    status = status_where(good > 0, valid)
    fields = {"num_good": good.astype(np.int32), "num_violations": k, "status": status}
    return fields | {"violations": violations, "allowance": allowance}


SUITE = Question(
    name="suite",
    words="on how many tasks of this fixed list is the performance at least a threshold?",
    function=certify_suite,
    rows=Rows(
        {"threshold": "thresholds", "num_good": "num_good", "num_violations": "num_violations", "status": "status"},
        "num_good",
        {"num_good": min, "threshold": min},
        {},
    ),
    options=(IN_A_ROW,),
    shortcut="",
    listed=True,
    missing=lambda found, index: np.asarray(found.violations)[int(found.chosen[index]), :, index],
    paired=True,
)
