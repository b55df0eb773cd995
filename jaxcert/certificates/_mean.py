"""The mean performance over new tasks."""

import dataclasses
import decimal
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import choose
from jaxcert.bounds._bound import Bound, finish
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._answer import Answer
from jaxcert.certificates._averages import capped_mean
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import Status, answer, new_task_from, of_two, origin_of, quantity_of
from jaxcert.certificates._counting import status_where
from jaxcert.certificates._figures import LISTED, REWEIGHTED, SAMPLED, ceil_figures, floor_figures, nothing
from jaxcert.certificates._question import FREQUENCIES, MEAN_ROWS, Question
from jaxcert.certificates._registry import Returns, default_bound
from jaxcert.numerics._batches import common_shape
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._rounding import next_down, next_up, unit_roundoff
from jaxcert.returns._prepared import Support, as_successes, probability
from jaxcert.returns._sample import Needs, Sample, placed, sample_of
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Histogram

# Averages of unequal numbers of rollouts are not identically distributed.
OVER_TASKS = {name: bound for name, bound in BOUNDS.items() if bound.non_identical}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MeanCertificate(Answer):
    """A certified mean over new tasks, all of them or the worst; a pytree of arrays.

    With probability at least 1 - delta over the sampled tasks and rollouts: the mean of the quantity over tasks from
    the same distribution, or over the share alpha of them on which it is smallest, is at least ``mean``.

    Attributes:
        mean: certified mean, rounded down, float[..., t], or [...] where alpha is a scalar; -inf where a return,
            delta, alpha or cap are invalid.
        alpha: share of the tasks, those on which the quantity is smallest; 1 for all. float[t] or a scalar.
        cap: c, beyond which returns do not count; infinity if all do. Of the shape of alpha.
        status: codes of ``Status``, int32 of the shape of the mean.
        delta: failure probability of each mean, a scalar.
        num_tasks, question, max_weight: as of ``Certificate``.
        bound: name of the bound over the tasks (static).
        quantity: what the mean is of, in words (static).
        source, frequencies: as of ``Certificate``, or "listed" for the mean over a fixed list (static).
        num_episodes: k, of successes in a row on a task (static).
    """

    mean: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    alpha: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    cap: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    status: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    bound: str = dataclasses.field(metadata=STATIC)
    quantity: str = dataclasses.field(metadata=STATIC)
    question: str = dataclasses.field(metadata=STATIC)
    source: str = dataclasses.field(default=SAMPLED, metadata=STATIC)
    frequencies: tuple[str, ...] | None = dataclasses.field(default=None, metadata=STATIC)
    num_episodes: int = dataclasses.field(default=1, metadata=STATIC)
    max_weight: jax.Array | None = None

    def _has_axes(self, name: str) -> bool:
        """Whether there are several shares: alpha has an axis more than delta then."""
        return np.ndim(self.alpha) > np.ndim(self.delta)

    def _told(self, index: int) -> str:
        """For one share of the worst tasks."""
        mean, alpha, status = self._held(index, "mean", "alpha", "status")
        if not np.isfinite(mean):
            return nothing(f"the mean of the {self.quantity}", self._note(index, *Status))
        note = " (the least that is possible: sample more tasks or rollouts)" if status == Status.VACUOUS else ""
        percent = f"{(100 * decimal.Decimal(ceil_figures(alpha))).normalize():f} % of tasks"
        # The worst tasks for a difference are not the hardest ones.
        worst = f" over the {f'{percent} on which it is smallest' if of_two(self) else f'worst {percent}'}"
        over = f"these {self.num_tasks} tasks" if self.source == LISTED else new_task_from(self.source, many=True)
        least = f"the {self.quantity} is at least {floor_figures(mean)} on average"
        return f"over {over}, {least}{'' if alpha >= 1 else worst}.{note}"


def certify_mean(
    returns: Returns | Weighted,
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify the mean over tasks of a policy's expected return.

    .. math:: P\big[\, E_{M \sim D}[J_M] \ge L(\bar X_1, \dots, \bar X_n; \delta) \,\big] \ge 1 - \delta,

    one-sided, over the n sampled tasks and their rollouts together. The averages of the tasks are independent and lie
    in the support; L is a lower bound on the mean of such numbers. It needs no level for single tasks, and one rollout
    per task is enough, since the variation between tasks is averaged as well.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks, or a summary of them; two
            policies (``paired``) or tasks with weights (``weighted``); as in ``certify``.
        support: (a, b), as in ``certify``; b may be infinite for "betting", unless tasks have weights.
        delta: failure probability, in (0, 1); a scalar.
        bound: "betting" or "hoeffding", over tasks whose averages may be of unequal numbers of rollouts. Or
            "clopper_pearson", which is exact, for one trial per task that succeeds or not. It is the default for an
            array of bool [..., n, 1], "betting" for others.
        where, validate: as in ``certify``. Values that cannot be checked fail closed: an invalid return or delta gives
            -inf. A return outside the support refutes it: the mean may then be below any number.

    Returns:
        A ``MeanCertificate`` with arrays [...].

    Raises:
        ValueError: for invalid shapes, names or values, as ``certify``.

    Example:
        >>> import jaxcert
        >>> print(certify_mean(jaxcert.sample_returns("cheetah"), support=(0, 1000), delta=0.01))
        With confidence 0.99: over new tasks from the same distribution,
        the expected return is at least 776.4... on average.

    Reference: the theory page, equation (17.1); of weighted tasks (20.3).
    """
    found, sample, words = bound_over_tasks(bound, returns, support, where, validate)
    return certified_mean(found, sample, delta, validate, **words, question="mean")


def bound_over_tasks(
    name: str | None, returns: Any, support: Any, where: Any, validate: bool, *, capped: bool = False
) -> tuple[Bound, Sample, dict[str, Any]]:
    """The bound over tasks with that name, the sample, and in words of an answer what its mean is of, over which tasks.

    The mean over weighted tasks needs b, since weights multiply the distance to it; no mean needs b if averages count
    only up to a cap (``capped``).
    """
    returns = as_successes(returns, support, where, name)
    needs = bound = mean_bound(name, returns)
    if not bound.binary:
        needs_width = (bound.needs_width or isinstance(returns, Weighted)) and not capped
        needs = Needs(bound.name, needs_width=needs_width, averages=True, weights=True)
    words = {"quantity": quantity_of(bound.name, returns), **origin_of(returns)}
    return bound, sample_of(needs, returns, support, where, validate), words


def mean_bound(name: str | None, returns: Any) -> Bound:
    """The bound over tasks with that name; of returns [..., n, 1], one success of each task, the exact one, too."""
    of_numbers = not isinstance(returns, Histogram | Weighted)
    of_trials = of_numbers and np.ndim(returns) > 1 and np.shape(returns)[-1] == 1
    name = default_bound(name, returns if of_trials else ())
    return CLOPPER_PEARSON if of_trials and name == CLOPPER_PEARSON.name else choose("bound", name, OVER_TASKS)


def certified_mean(
    bound: Bound, sample: Sample, delta: Any, validate: bool, *, worst: tuple[Any, Any] | None = None, **words: Any
) -> MeanCertificate:
    """The certificate of a sample, with its words.

    ``worst``: shares of the tasks and caps, in rows; by default all of the tasks.
    """
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    alpha, cap = worst or (np.ones(1, sample.dtype), np.full(1, np.inf, sample.dtype))
    rows = None if worst is None else common_shape(alpha=alpha, cap=cap)[0]
    fields = _fields(bound, worst is None, *placed((sample, alpha, cap, delta))) | {"delta": delta}
    if words["source"] == REWEIGHTED and sample.weights is not None:
        fields["max_weight"] = sample.weights.largest
    return answer(MeanCertificate, fields, sample.num_tasks, rows, bound=bound.name, **words)


@functools.partial(quickly, static_argnums=(0, 1))
def _fields(bound: Bound, single: bool, sample: Sample, alpha, cap, delta) -> dict[str, jax.Array]:
    """The fields of certificates, one for each share and cap, or of the ``single`` one, over all tasks."""
    low, (alpha, cap) = jnp.asarray(sample.low), jnp.broadcast_arrays(alpha, cap)
    # The cap that counts is a plus this number, which is exact by definition.
    room = cap - low
    lower = capped_mean(bound, sample, room, delta)
    good = (lower >= 0) & jnp.broadcast_to((alpha > 0) & (alpha <= 1) & (room > 0), lower.shape)
    if single and bound.binary:  # rounded already; a is 0
        mean = jnp.where(good, lower, -jnp.inf)
    else:  # all of the tasks need no cap, which may be infinite
        mean = finish(lower if single else _above_low(lower, room, alpha), low, good)
    fields = mean_fields(mean, low, alpha, cap)
    return {name: value[..., 0] for name, value in fields.items()} if single else fields


def mean_fields(mean: jax.Array, low: Any, alpha: jax.Array, cap: jax.Array) -> dict[str, jax.Array]:
    """A mean says something if it is above the lower end, and is -inf where input is invalid."""
    return {"mean": mean, "alpha": alpha, "cap": cap, "status": status_where(mean > low, mean > -jnp.inf)}


def _above_low(lower: jax.Array, room: jax.Array, alpha: jax.Array) -> jax.Array:
    """At most room - (room - lower) / alpha."""
    room, alpha = jnp.broadcast_to(room, lower.shape), jnp.broadcast_to(alpha, lower.shape)
    # Smaller numerators lose digits on a GPU.
    shortfall = jnp.maximum(next_up(room - lower), 2.0**-90)
    share = quotient(shortfall, jnp.where(alpha > 0, alpha, 1)) * (1 + 4 * unit_roundoff(room.dtype))
    return next_down(room - share)


MEAN = Question(
    name="mean",
    words="what is the mean performance over new tasks at least?",
    function=certify_mean,
    rows=MEAN_ROWS,
    each=None,
    options=(FREQUENCIES,),
    shortcut="mean",
)
