"""Several requirements at once: on what share of new tasks, or on how many of a list, all of them are met."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._access import Answer
from jaxcert.certificates._arguments import choose, levels_of
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import answer, new_task_from
from jaxcert.certificates._figures import (
    LISTED,
    SAMPLED,
    Told,
    ceil_figures,
    floor_figures,
    floor_to,
    nothing,
    of_tasks,
    reach,
)
from jaxcert.certificates._figures import at_least as share_of_new_tasks
from jaxcert.certificates._met import check_declared, metrics_of, solved_together
from jaxcert.certificates._method import BINOMIAL, Levels
from jaxcert.certificates._question import COUNT_ROWS, COUNTED, Option, Question, Rows, same
from jaxcert.certificates._soft import SOFT
from jaxcert.numerics._rounding import Side as Rounding
from jaxcert.numerics._rounding import cast_host, known
from jaxcert.returns._required import Requirement, requirements_of, sides_of

_METHODS = {method.name: method for method in (BINOMIAL, ATTAINED, SOFT)}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RequirementsCertificate(Answer):
    """Certified share of new tasks, or number of tasks of a list, that meet several requirements at once; a pytree.

    With probability at least 1 - delta over the sampled tasks and rollouts: a new task from the same distribution meets
    all of the requirements, which were fixed before the data were seen, with probability at least ``safety``. Of a list
    of tasks, over the rollouts alone: at least ``num_good`` of them do, and ``safety`` is this number as a share.

    Attributes:
        thresholds: what each of the r sides requires, float[r]; rounded to where it requires more.
        low, high: the ends of the support of each, float[r]; 0 and 1 for successes.
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
        chosen: whether the data chose the level (static).
        complete: whether returns were declared to be of whole rollouts (static).
        question: by which name it was asked (static).
        source: "sampled", or "listed" for the tasks of a fixed list (static).
        num_good: at least how many tasks of a list meet all of the requirements; of sampled ones n - k.
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
    num_tasks: int = dataclasses.field(metadata={"static": True})
    metrics: tuple[str, ...] = dataclasses.field(metadata={"static": True})
    sides: tuple[str, ...] = dataclasses.field(metadata={"static": True})
    of_successes: tuple[bool, ...] = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    method: str = dataclasses.field(metadata={"static": True})
    chosen: bool = dataclasses.field(metadata={"static": True})
    complete: bool = dataclasses.field(metadata={"static": True})
    question: str = dataclasses.field(metadata={"static": True})
    source: str = dataclasses.field(metadata={"static": True})
    num_good: jax.Array

    _shown: ClassVar = ("safety", "thresholds", "level", "delta", "num_tasks", "metrics", "sides", "bound", "method")

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements, as lines that ``certify_requirements`` reads."""
        rows = zip(self._claims, self.of_successes, self.low, self.high, strict=True)
        return tuple(
            claim if binary else f"{claim} in {_decimal(low, 'down')} {_decimal(high, 'up')}"
            for claim, binary, low, high in rows
        )

    @property
    def beta(self) -> jax.Array:
        """The level; with an axis of one row where the data chose it."""
        return self.level[..., None] if self.chosen else self.level

    @property
    def num_missed(self) -> jax.Array:
        """How many tasks are not shown to meet each requirement, int32[..., r]."""
        return jnp.sum(self.missed, axis=-1, dtype=jnp.int32)

    @property
    def why_not_more(self) -> str:
        """On how many of the tasks each requirement is not shown, in words; empty where all are shown on all."""
        if not int(self.num_violations):
            return ""
        each = ", ".join(f"{what} on {n}" for what, n in zip(self._claims, self.num_missed.tolist(), strict=True))
        return f"{int(self.num_violations)} of {self.num_tasks} tasks are not shown to meet all of it, {each}"

    @property
    def _numbers(self) -> list[str]:
        sides: list[Rounding] = ["up" if side == _SIDES[0] else "down" for side in self.sides]
        return [_decimal(value, side) for value, side in zip(self.thresholds, sides, strict=True)]

    @property
    def _claims(self) -> list[str]:
        """The requirements without the supports."""
        rows = zip(self.metrics, self.sides, self._numbers, strict=True)
        return [f"{name} {'>=' if side == _SIDES[0] else '<='} {number}" for name, side, number in rows]

    @property
    def _required(self) -> str:
        """All requirements in words."""
        rows = zip(self.of_successes, self.metrics, self.sides, self._numbers, strict=True)
        *most, last = [
            f"the {'probability of' if binary else 'expected'} {metric.replace('_', ' ')} is {side} {number}"
            for binary, metric, side, number in rows
        ]
        return f"{', '.join(most)} and {last}, all at once," if most else last

    def _told(self, index: int) -> Told:
        (safety,), note = self._held(index, "safety"), self._note(index)
        if self.source == LISTED:
            return self._told_of_list(int(self.num_good), note)
        what, task = self._required.rstrip(","), new_task_from(self.source)
        if not safety > 0:
            return nothing(f"whether {what}", note)
        sentence = f"on {task}, {self._required} with probability at least {floor_to(safety, 4)}.{note}"
        return Told(sentence, share_of_new_tasks(safety)[0], f"{task.removeprefix('a new task ')}: {what}")

    def _told_of_list(self, good: int, note: str) -> Told:
        n, what = self.num_tasks, self._required.rstrip(",")
        if not good:
            return nothing(f"on how many of these {n} tasks {what}", note)
        claim = of_tasks(good, n)
        return Told(f"on {claim[0].lower()}{claim[1:]}, {what}.{note}", claim, f"{reach(good)}: {what}")


_SIDES = "at least", "at most"


def _decimal(value: Any, side: Rounding) -> str:
    """The decimal of which a number is the rounded one, or the number itself."""
    number = np.asarray(value)
    shown = (floor_figures if side == "up" else ceil_figures)(float(number), 7)
    same_number = np.isfinite(number) and cast_host(np.asarray(float(shown)), number.dtype, side) == number
    return shown if same_number else repr(float(number)).removesuffix(".0")


def certify_requirements(
    returns: Mapping[str, chex.Array],
    requirements: Mapping[str, Requirement] | Sequence[str],
    *,
    delta: chex.Numeric,
    beta: chex.Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str | None = None,
    complete: bool = False,
    where: chex.Array | Mapping[str, Any] | None = None,
    validate: bool = True,
) -> RequirementsCertificate:
    r"""Certify that a policy meets several requirements at once: reward and cost, success and collisions.

    With metrics X^r of the same tasks, their expected values J^r on a task, and thresholds B_r that are fixed
    before the data are seen:

    .. math:: P\big[\, P_{M \sim D}[J^r_M \ge B_r \text{ for all } r] \ge 1 - \hat\varepsilon \,\big] \ge 1 - \delta,

    one-sided; for a metric that is to be at most a number the inequality is J^r <= B_r. A task passes if each
    requirement is shown to be met by a bound of its own, at one level beta. A bad task misses one of them, and passes
    only if the bound of that one fails: so k, the tasks that do not pass, gives the risk as in ``certify``. Neither
    delta nor beta is divided, and metrics may depend on one another in any way.

    Args:
        returns: by the name of each metric, float[..., n, m] or bool, as in ``certify``: the same tasks in the same
            order; the number of rollouts may differ.
        requirements: by the name of each metric ``at_least``, ``at_most`` or ``between``, with the support of returns
            that are no successes; or lines such as "reward >= 300 in 0 1000", "success >= 0.9".
        delta: failure probability, in (0, 1); a scalar.
        beta: level of each bound, in (0, 1); a scalar. For "binomial" 0.05 by default, and "auto" takes the best of
            three levels. For "attained" what no level must exceed; by default the best of four is taken. For "soft" as
            in ``certify``.
        bound: per-task bound of returns, as in ``certify``; "betting" by default. Successes are counted.
        method: "attained" if any metric is of successes, else "binomial". Or "soft": the evidence of a task is the
            smallest of those against each requirement.
        complete: True declares that each return is that of a whole rollout, of a finite horizon, which ``at_most``
            needs: after a prefix the cost may still grow.
        where: which rollouts count, bool[..., n, m] for all metrics, or by the name of each.
        validate: as in ``certify``.

    Returns:
        A ``RequirementsCertificate`` with arrays [...].

    Raises:
        ValueError: as ``certify``, with the name of the metric; metrics without requirements or the other way round,
            other numbers of tasks, or ``at_most`` without complete=True.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(10) < np.tile([10, 10, 9, 10, 7], 16)[:, None]  # ten trials of each of 80 tasks
        >>> hit = (np.arange(80)[:, None] + 3 * np.arange(10)) % 20 == 0  # half a collision of each task
        >>> lines = ["success >= 0.5", "collision <= 0.5"]
        >>> found = certify_requirements({"success": passed, "collision": hit}, lines, delta=0.05, complete=True)
        >>> print(found)
        With confidence 0.95: on a new task from the same distribution, the probability of success is at least 0.5
        and the probability of collision is at most 0.5, all at once, with probability at least 0.9354.
        >>> print(found.num_missed)
        [0 0]

    Reference: the theory page, section 2.4; Berger (1982) on intersection-union tests.
    """
    settings = {"delta": delta, "beta": beta, "bound": bound, "method": method, "complete": complete}
    return required(returns, requirements, **settings, where=where, validate=validate)


def required(
    returns: Any,
    requirements: Any,
    *,
    delta: Any,
    beta: Any = None,
    bound: str | None,
    method: str | None = None,
    complete: bool,
    where: Any,
    validate: bool,
    listed: bool = False,
) -> RequirementsCertificate:
    """The answer about new tasks, or about the tasks of a list."""
    sides = sides_of(requirements_of(requirements))
    check_declared(sides, complete)
    metrics = metrics_of(sides, returns, where, bound, validate)
    usual = ATTAINED if any(each.bound.binary for each in metrics) else BINOMIAL
    chosen = choose("method", method or usual.name, _METHODS)
    if chosen is ATTAINED and usual is BINOMIAL:
        raise ValueError("method is 'attained', which counts successes; none of the metrics is of them")
    dtype = np.result_type(*(each.sample.dtype for each in metrics))
    longest = max(metrics, key=lambda each: int(each.sample.num_rollouts)).sample
    common = longest.replace(low=longest.low.astype(dtype))
    delta, level = levels_of(chosen, delta, beta, common, validate, chooses=True)
    fields = solved_together(chosen, metrics, None if listed else level, delta, listed=listed)
    ends, bounds = [each.support or (0, 1) for each in sides], [each.bound for each in metrics]
    rows = {
        "thresholds": [each.rounded(dtype) for each in sides],
        "low": [known(low, dtype, "down") for low, _ in ends],
        "high": [known(high, dtype, "up") for _, high in ends],
    }
    fields |= {name: (np if is_concrete(row) else jnp).stack(row) for name, row in rows.items()}
    settings: dict[str, Any] = {
        "metrics": tuple(each.metric for each in sides),
        "sides": tuple(_SIDES[not each.is_least] for each in sides),
        "of_successes": tuple(each.binary for each in bounds),
        "bound": next((each.name for each in bounds if not each.binary), CLOPPER_PEARSON.name),
        "chosen": listed or level is None or isinstance(level, Levels),
        "question": "suite_requirements" if listed else "requirements",
        "source": LISTED if listed else SAMPLED,
    }
    return answer(RequirementsCertificate, fields, common.num_tasks, method=chosen.name, complete=complete, **settings)


def certify_suite_requirements(
    returns: Mapping[str, chex.Array],
    requirements: Mapping[str, Requirement] | Sequence[str],
    *,
    delta: chex.Numeric,
    bound: str | None = None,
    complete: bool = False,
    where: chex.Array | Mapping[str, Any] | None = None,
    validate: bool = True,
) -> RequirementsCertificate:
    r"""Certify on how many tasks of a fixed list a policy meets several requirements at once.

    The tasks are those of ``certify_suite``, and a task passes as in ``certify_requirements``: if each of its
    requirements is shown by a bound of its own, all at one of a few levels, each of which has a share of delta.

    .. math:: P\big[\, \#\{i : J^r_i \ge B_r \text{ for all } r\} \ge n - k - x \,\big] \ge 1 - \delta,

    one-sided, with k the tasks that do not pass, and x, how many others may be bad, as for ``certify_suite``: a bad
    task passes with a probability of at most its level, whichever requirement it misses.

    Args:
        returns, requirements, delta, bound, complete, where, validate: as in ``certify_requirements``.

    Returns:
        A ``RequirementsCertificate`` with arrays [...].

    Raises:
        ValueError: as ``certify_requirements``.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(20) < np.tile([20, 20, 19, 20, 9], 10)[:, None]  # twenty trials of each of 50 tasks
        >>> hit = (np.arange(50)[:, None] + 3 * np.arange(20)) % 20 == 0
        >>> lines = ["success >= 0.7", "collision <= 0.2"]
        >>> returns = {"success": passed, "collision": hit}
        >>> print(certify_suite_requirements(returns, lines, delta=0.05, complete=True))
        With confidence 0.95: on at least 37 of these 50 tasks, the probability of success is at least 0.7
        and the probability of collision is at most 0.2, all at once.

    Reference: the theory page, sections 2.4 and 22.
    """
    settings = {"delta": delta, "bound": bound, "complete": complete, "where": where, "validate": validate}
    return required(returns, requirements, **settings, listed=True)


_REQUIREMENT = (
    "A metric, the column of its values, with what it has to be and its support: 'reward >= 300 in 0 1000', or "
    "'success >= 0.9' for successes"
)
_COMPLETE = "Declare that each return is that of a whole rollout, of a finite horizon, which an upper limit needs"

_OPTIONS = (
    Option("requirements", tuple, _REQUIREMENT, True, "requirement", check=lambda _, value: requirements_of(value)),
    Option("complete", bool, _COMPLETE),
)

REQUIREMENTS = Question(
    name="requirements",
    words="on what share of new tasks are several requirements met at once, such as a reward and a cost?",
    function=certify_requirements,
    rows=Rows(
        {name: COUNTED[name] for name in ("safety", "epsilon", "num_violations", "status")},
        claims={"safety": min},
        risks=COUNT_ROWS.risks,
    ),
    each=None,
    settings=same("delta", "beta", "bound", "method", "requirements", "complete"),
    options=_OPTIONS,
)

SUITE_REQUIREMENTS = Question(
    name="suite_requirements",
    words="on how many tasks of this fixed list are several requirements met at once?",
    function=certify_suite_requirements,
    rows=Rows({name: name for name in ("num_good", "num_violations", "status")}, "num_good", {"num_good": min}, {}),
    each=None,
    settings=same("delta", "bound", "requirements", "complete"),
    options=_OPTIONS,
    listed=True,
)
