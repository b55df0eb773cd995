"""The certificate: its statement, its inputs, and its status."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import jax
import numpy as np

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._answer import ByThreshold
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._figures import (
    REWEIGHTED,
    SAMPLED,
    Status,
    ceil_to,
    floor_figures,
    floor_to,
    nothing,
)
from jaxcert.returns._labels import quoted, quoted_condition
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._sample import placed
from jaxcert.returns._weighted import Weighted

EXPECTED_RETURN, PROBABILITY_OF_SUCCESS = "expected return", "probability of success"
# The quantity of a comparison.
A_MINUS_B, _MINUS = "policy A minus that of policy B", "policy A minus B"
DIFFERENCE = f"{EXPECTED_RETURN} of {A_MINUS_B}"
DIFFERENCE_IN_A_ROW = f"probability of {{}} successes in a row of {A_MINUS_B}"
DIFFERENCE_OF_SUCCESSES = f"{PROBABILITY_OF_SUCCESS} of {A_MINUS_B}"


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Certificate(ByThreshold):
    """Certified safety of a policy at one or several thresholds; a pytree of arrays.

    At each threshold B, fixed before the data were seen: with probability at least 1 - delta over the sampled tasks and
    rollouts, a new task from the same distribution has an expected return of at least B with probability at least
    ``safety`` = 1 - ``epsilon``. If ``simultaneous``, it does so at all thresholds together with probability at least
    1 - delta.

    Some questions say more: of one at every moment of the sampling of tasks (``certify_anytime``), epsilon is the
    smallest risk of all moments so far; ``certify_interval`` certifies the share from above, too, each end failing with
    probability at most delta / 2. After a shift, ``epsilon``, ``safety`` and ``status`` are what holds then, and all
    else comes from the certificate that was shifted.

    ``certificate[3]``, ``certificate[1:4]`` and ``certificate.at(0.5)`` are the certificates at some of the thresholds,
    again with an axis of thresholds; ``to_frame()`` is a table, ``to_dict()`` and ``to_json()`` give plain values. Of a
    batch, whose ``batch_shape`` is (seeds, checkpoints) say, an index goes to these axes first: ``certificate[0, 7]``
    is one element, ``certificate[0, 7, 3]`` one at a threshold.

    Attributes:
        thresholds: B, float[..., t].
        safety: certified P[J >= B], rounded down, float[..., t].
        epsilon: certified risk, float[..., t].
        num_violations: k, tasks whose lower bound is not at least B; int32[..., t]. In a soft count they are the tasks
            with evidence of at most 1 against J < B, which count in full or more; for "attained", those with too few
            successes.
        lower_bounds: per-task lower bounds, float[..., n]; -inf for a task with a return that is NaN, and for all tasks
            if one has a return outside the support. With beta "auto" they are at the smallest level, although
            ``num_violations`` counts at the chosen one; for "attained" at beta, or at 0.05. In a soft count they are
            the lower end of the support, which is all that it says of a single task.
        num_valid: K of the scenario certificate (0: none); n - k for the others, int32[..., t].
        status: codes of ``Status``, int32[..., t].
        beta: failure probability of each lower bound, or the weight of the evidence in a soft count, float[...]; with
            "auto", and by default with "attained", the chosen one, float[..., t].
        delta: failure probability of the certificate, float[...].
        num_tasks: n (static).
        bound: name of the per-task bound, or in a soft count of the bound over the tasks (static).
        method: name of the method (static).
        simultaneous: whether delta is the failure probability of all thresholds together (static).
        quantity: what the thresholds are thresholds of, in words (static): the expected return, the probability of
            success, or the difference of two policies.
        question: which of ``jaxcert.questions`` it answers, by name (static).
        source: the distribution that ``epsilon``, ``safety`` and ``status`` speak of: "sampled", "reweighted" where
            tasks have weights, or the strata in words where tasks were drawn within these (static).
        max_weight: of weights, what none of them exceeds, as declared, rounded up, a scalar; None without weights.
        frequencies: those given for strata (static); None if the sample has them, or without strata.
        chosen: which of the levels that were tried counts, from 0, int32[..., t]; None where only one was.
        tried: lower bounds at each level among which the data chose, float[..., levels, n]; None where they did not.
        missed: which tasks are violations, bool[..., n, t]; None where those with the smallest lower bounds are.
        safety_upper: of an interval, at least P[J >= B], rounded up, float[..., t]. This and all below are None where
            they do not apply.
        num_below: of an interval, tasks whose upper bound is below B, int32[..., t].
        upper_bounds: of an interval, per-task upper bounds, float[..., n]; inf for a task with invalid returns.
        beta_upper: of an interval, failure probability of each upper bound, float[...].
        level: of a band, eta <= delta of the single limits, rounded down; float[...].
        low: of a band, the lower end a of the support; -inf if it is not known; float[...].
        history: of one at every moment, the certified risk after each task, float[..., n, t]; the last is ``epsilon``.
        num_rollouts_used: of a sequential one, rollouts of each task until it passed, was given up or the data ended,
            int32[..., n, t]. The lower bound of a task is then the largest threshold that it has passed, or the lower
            end of the support; for binary returns, it must also have passed all smaller thresholds.
        radius: of a shift, how far the distribution of new tasks may be from the certified one, rounded up, a scalar.
        divergence: of a shift, in what the radius is measured (static).
        sampled: the certificate that was shifted, from which all this follows; None for one of the sampled tasks.
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("threshold", column="threshold"))
    safety: jax.Array = dataclasses.field(metadata=along("threshold"))
    epsilon: jax.Array = dataclasses.field(metadata=along("threshold"))
    num_violations: jax.Array = dataclasses.field(metadata=along("threshold"))
    lower_bounds: jax.Array = dataclasses.field(metadata=along("task"))
    num_valid: jax.Array = dataclasses.field(metadata=along("threshold"))
    status: jax.Array = dataclasses.field(metadata=along("threshold"))
    beta: jax.Array = dataclasses.field(metadata=along("threshold", optional=True))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    bound: str = dataclasses.field(metadata=STATIC)
    method: str = dataclasses.field(metadata=STATIC)
    _: dataclasses.KW_ONLY
    simultaneous: bool = dataclasses.field(default=False, metadata=STATIC)
    quantity: str = dataclasses.field(default=EXPECTED_RETURN, metadata=STATIC)
    question: str = dataclasses.field(default="safety", metadata=STATIC)
    source: str = dataclasses.field(default=SAMPLED, metadata=STATIC)
    max_weight: jax.Array | None = None
    frequencies: tuple[str, ...] | None = dataclasses.field(default=None, metadata=STATIC)
    chosen: Any = dataclasses.field(default=None, metadata=along("threshold"))
    tried: Any = dataclasses.field(default=None, metadata=along("level", "task"))
    missed: Any = dataclasses.field(default=None, metadata=along("task", "threshold"))
    safety_upper: Any = dataclasses.field(default=None, metadata=along("threshold"))
    num_below: Any = dataclasses.field(default=None, metadata=along("threshold"))
    upper_bounds: Any = dataclasses.field(default=None, metadata=along("task"))
    beta_upper: Any = None
    level: Any = None
    low: Any = None
    history: Any = dataclasses.field(default=None, metadata=along("task", "threshold"))
    num_rollouts_used: Any = dataclasses.field(default=None, metadata=along("task", "threshold"))
    radius: Any = None
    divergence: str | None = dataclasses.field(default=None, metadata=STATIC)
    sampled: Any = None

    @property
    def _apart(self) -> str:
        """Label for plot legends; empty for an ordinary certificate of one policy."""
        if self.sampled is not None:
            return "shifted tasks"
        if of_two(self):
            return _MINUS
        return {SAMPLED: "", REWEIGHTED: "reweighted tasks"}.get(self.source, "tasks from strata")

    def _decimal(self, name: str, value: Any) -> str:
        """An upper end does not hold at a lower threshold, below the float before it."""
        shown, held = super()._decimal(name, value), np.asarray(value)
        if name != "thresholds" or self.safety_upper is None:
            return shown
        before = float(np.nextafter(held, held.dtype.type(-np.inf)))
        return shown if float(shown) >= before else repr(float(held))

    def _told(self, index: int) -> str:
        safety, status = self._held(index, "safety", "status")
        shown = self._decimal("thresholds", np.asarray(self.thresholds)[index])
        task = new_task_from(self.source)
        if self.sampled is not None:
            known = self.source in (SAMPLED, REWEIGHTED)
            one = f"the {self.source} one" if known else f"that of tasks from {self.source}"
            # A smaller radius is covered, so it is rounded down.
            task = f"a new task from {_NEAR[str(self.divergence)].format(floor_figures(float(self.radius)), one)}"
        words = f"on {task}, the {self.quantity} is at least {shown} with"
        if not safety > 0 if self.safety_upper is None else status == Status.VACUOUS:
            return nothing(f"{with_article(self.quantity)} of at least {shown}")
        if self.safety_upper is not None:
            (upper,), note = self._held(index, "safety_upper"), self._note(index, *set(Status) - {Status.CERTIFIED})
            return f"{words} a probability between {floor_to(safety, 4)} and {ceil_to(upper, 4)}.{note}"
        note = self._note(index, Status.INFEASIBLE, Status.INVALID_INPUT, Status.UNSOUND)
        if status == Status.VACUOUS:  # of a safety level: a threshold with a positive safety says something
            note = " (no more than the lower end of the support: lower the safety, or sample more tasks or rollouts)"
        return f"{words} probability at least {floor_to(safety, 4)}.{note}"

    def violated(self, index: int) -> np.ndarray | None:
        """The tasks that count as violations at one threshold, bool[n]; None where tasks were weighed."""
        if self.missed is not None:
            return np.asarray(self.missed)[:, index]
        count = int(self.num_violations[index])
        lower = np.asarray(self.lower_bounds)
        if self.tried is not None and self.chosen is not None:
            lower = np.asarray(self.tried)[int(self.chosen[index])]
        found = ~(lower >= np.sort(lower)[count]) if count < self.num_tasks else np.ones(self.num_tasks, bool)
        return found if int(found.sum()) == count else None


def quantity_of(bound: str, returns: Any = None) -> str:
    """The name of the mean. Successes are of type bool, or have the bound for returns of 0 and 1."""
    if isinstance(returns, Weighted):
        return quantity_of(bound, returns.returns)
    if isinstance(returns, Paired):
        return DIFFERENCE_OF_SUCCESSES if returns.of_successes else DIFFERENCE
    return PROBABILITY_OF_SUCCESS if bound == CLOPPER_PEARSON.name or is_successes(returns) else EXPECTED_RETURN


Kind = TypeVar("Kind")


def answer(
    kind: type[Kind], fields: Mapping[str, Any], num_tasks: Any, rows: int | None = None, **settings: Any
) -> Kind:
    """An answer of some kind from its arrays, which may be longer along the axes of tasks and of rows.

    ``rows``: the number of thresholds or shares; None if it has no such axis. ``settings``: its other fields.
    """
    n = int(num_tasks)
    axes = {field.name: field.metadata.get("axes", ()) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    first = next(iter(axes.values()))[-1]
    sizes = {"task": n} | ({} if rows is None else {first: rows})
    cut = {}
    for name, value in fields.items():
        own = zip(axes[name][::-1], np.shape(value)[::-1], strict=False)
        kept = [slice(sizes[axis]) if sizes.get(axis, size) < size else slice(None) for axis, size in own]
        if any(each != slice(None) for each in kept):
            cut[name] = (..., *reversed(kept))
    longer = jax.device_get({name: fields[name] for name in cut})
    shorter = {name: longer[name][index] for name, index in cut.items()}
    return kind(**placed({**fields, **shorter}), **settings, num_tasks=n)  # type: ignore[call-arg]


def naming(sentence: str, policies: Sequence[str], group: str = "") -> str:
    """Put the names of two policies into sentences, a line each, and the condition on the rows of a group."""
    if policies:
        names, minus = [*map(quoted, policies)], {A_MINUS_B: " minus that of ", _MINUS: " minus "}
        sentence = re.sub("|".join(minus), lambda found: minus[found[0]].join(names), sentence)
    if group:
        sentence = re.sub("(?m)^(With .*?): ", lambda start: f"{start[1]}, where {quoted_condition(group)}: ", sentence)
    return sentence


def of_two(answer: Any) -> bool:
    """Whether an answer is about the difference of two policies."""
    return getattr(answer, "quantity", "").endswith(A_MINUS_B)


def with_article(quantity: str) -> str:
    """A quantity in words: an expected return, a probability of success."""
    return f"{'an' if quantity[:1] in 'aeiou' else 'a'} {quantity}"


def origin_of(returns: Any) -> dict[str, Any]:
    """The distribution that new tasks are from, by name or in words, with the frequencies that strata were given."""
    if not isinstance(returns, Weighted):
        return {"source": SAMPLED}
    return {"source": returns.strata or REWEIGHTED, "frequencies": returns.frequencies or None}


def new_task_from(source: str, *, many: bool = False) -> str:
    """A new task of a distribution, or many: a new task from the same distribution, from the reweighted one."""
    known = {SAMPLED: "the same distribution", REWEIGHTED: "the reweighted distribution"}
    return f"{'new tasks' if many else 'a new task'} from {known.get(source, source)}"


# The distribution of a new task by the divergence, for the radius and for the one that it is near.
_NEAR = {
    "chi2": "any distribution within chi-squared divergence {} of {}",
    "kl": "any distribution within KL divergence {} of {}",
    "ratio": "any distribution with a density of at most {} times {}",
    "total_variation": "any distribution within total variation distance {} of {}",
}
