"""A certified mean over tasks, and the averages of tasks that it is a mean of."""

import dataclasses
import decimal
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, mean_down, width_up
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import data_of, evaluate, lower_bounds
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._access import Plain, holds_values, listed
from jaxcert.certificates._arguments import choose, default_bound
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import LISTED, SAMPLED, Status, is_difference, new_tasks_from
from jaxcert.certificates._figures import ceil_figures, confidence, figures_row, floor_figures
from jaxcert.certificates._headline import Headline, nothing, short_figures
from jaxcert.certificates._task_weights import parts_of_largest, weighted_loss
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, next_down, unit_roundoff
from jaxcert.returns._checks import check_sums
from jaxcert.returns._prepared import Prepared
from jaxcert.returns.summaries import Summary


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class MeanCertificate(Plain):
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
        num_tasks: n (static).
        bound: name of the bound over the tasks (static).
        quantity: what the mean is of, in words (static).
        source: "sampled", "reweighted" for the tasks of other weights, or "listed" for the mean over a fixed list
            (static).
        question: which of ``jaxcert.questions`` it answers, by name (static).
        max_weight: of weights, what none of them exceeds, as declared, rounded up, a scalar; None without weights.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_mean
        >>> print(certify_mean(jnp.full((200, 5), 0.9), support=(0, 1), delta=0.01))
        With confidence 0.99: over new tasks from the same distribution,
        the expected return is at least 0.8795... on average.
    """

    mean: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    alpha: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    cap: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    status: jax.Array = dataclasses.field(metadata=along("alpha", optional=True))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    quantity: str = dataclasses.field(metadata={"static": True})
    question: str = dataclasses.field(metadata={"static": True})
    source: str = dataclasses.field(default=SAMPLED, metadata={"static": True})
    max_weight: jax.Array | None = None

    def __str__(self) -> str:
        if not self._is_single():
            return repr(self)
        return listed(self._sentence, self.mean.size)

    def __repr__(self) -> str:
        settings = f"num_tasks={self.num_tasks}, bound={self.bound!r}, quantity={self.quantity!r}"
        if not self._is_single():
            return f"{type(self).__name__}(mean of shape {getattr(self.mean, 'shape', None)}, {settings})"
        mean, alpha = figures_row(np.ravel(self.mean)), figures_row(np.ravel(self.alpha), ceil_figures)
        delta = ceil_figures(float(self.delta))
        return f"{type(self).__name__}(mean={mean}, alpha={alpha}, delta={delta}, {settings})"

    def _has_axes(self, name: str) -> bool:
        """Whether there are several shares: alpha has an axis more than delta then."""
        return np.ndim(self.alpha) > np.ndim(self.delta)

    def _is_single(self) -> bool:
        """Whether it can be read, and has no batch axes."""
        return holds_values(self) and self.mean.shape == self.alpha.shape and not self.delta.ndim

    def _sentence(self, index: int) -> str:
        """In words, with every figure rounded to the safe side: a smaller share of worst tasks has a smaller mean."""
        mean, alpha, status = (np.ravel(column)[index].item() for column in (self.mean, self.alpha, self.status))
        start = f"With confidence {confidence(float(self.delta))}"
        if not np.isfinite(mean):
            return f"{start}: nothing is certified about the mean of the {self.quantity} ({Status(status).advice})."
        tasks = "" if alpha >= 1 else f" over the {self._worst(_percent(alpha))}"
        return (
            f"{start}: over {self._over}, the {self.quantity} is at least "
            f"{floor_figures(mean)} on average{tasks}.{_NOTES.get(Status(status), '')}"
        )

    def _headline(self, index: int) -> Headline:
        mean, alpha, status = (np.ravel(column)[index].item() for column in (self.mean, self.alpha, self.status))
        sure = f"with confidence {confidence(float(self.delta))}"
        if not np.isfinite(mean) or status == Status.VACUOUS:
            return nothing(f"about the mean of the {self.quantity}, {sure}")
        tasks, _, source = self._over.partition(" from ")
        over = tasks if alpha >= 1 else f"the {self._worst(_percent(alpha)).replace('of tasks', f'of {tasks}')}"
        claim = f"At least {short_figures(mean)} on average over {over}"
        return Headline(claim, f"is the {self.quantity}, {f'for tasks from {source}, ' if source else ''}{sure}")

    @property
    def _over(self) -> str:
        """The tasks that the mean is over."""
        return f"these {self.num_tasks} tasks" if self.source == LISTED else new_tasks_from(self.source)

    def _worst(self, percent: str) -> str:
        """Which tasks a mean over a share of them is over; those worst for a difference are not the hardest ones."""
        difference = is_difference(self.quantity)
        return f"{percent} % of tasks on which it is smallest" if difference else f"worst {percent} % of tasks"


_NOTES = {Status.VACUOUS: " (the least that is possible: sample more tasks or rollouts)"}


def _percent(share: float) -> str:
    """The share in per cent, rounded up."""
    return f"{(100 * decimal.Decimal(ceil_figures(share))).normalize():f}"


def mean_status(mean: jax.Array, least: jax.Array) -> jax.Array:
    """Invalid input, which has a mean of -inf, vacuous or certified."""
    status = jnp.where(mean > least, Status.CERTIFIED.value, Status.VACUOUS.value)
    return jnp.where(mean > -jnp.inf, status, Status.INVALID_INPUT.value).astype(jnp.int32)


# Averages of unequal numbers of rollouts are not identically distributed.
OVER_TASKS = {name: bound for name, bound in BOUNDS.items() if bound.non_identical}


class TaskAverages(NamedTuple):
    """Averages of the returns of each task, above a.

    Attributes:
        excess: at most the average of x - a, [..., n]; 0 in an invalid task.
        width: at least b - a.
        valid: tasks in which every return that counts lies in the support, [..., n].
    """

    excess: jax.Array
    width: jax.Array
    valid: jax.Array


def prepare_averages(
    name: str | None,
    returns: Any,
    support: Any,
    where: Any,
    validate: bool,
    *,
    capped: bool = False,
    weighted: bool = False,
) -> tuple[Bound, Prepared]:
    """The bound over tasks with that name, and returns or a summary of them, checked, on the device.

    One trial of each task may have the exact bound, which is the default of successes, of type bool, unless the tasks
    are ``weighted``; the mean over these needs b, since weights multiply what is missing to it. ``capped``: whether
    averages count up to a cap alone, so that no bound needs b.
    """
    of_trials = is_one_trial_each(returns) and not weighted
    name = name or default_bound(None, returns if of_trials else ())
    if of_trials and name == CLOPPER_PEARSON.name:
        return CLOPPER_PEARSON, prepare(CLOPPER_PEARSON, returns, support, where, validate, certificate=True)
    bound = choose("bound", name, OVER_TASKS)
    needs_width = (bound.needs_width or weighted) and not capped
    average = Bound(name, mean_down, needs_width=needs_width, from_moments=True)
    return bound, prepare(average, returns, support, where, validate, certificate=True)


def task_averages(prepared: Prepared) -> TaskAverages:
    """The averages of prepared returns or of a summary."""
    x, low, high, where = prepared
    # The level has no part in an average.
    data = data_of(_AVERAGE, x, jnp.full((), 0.5, low.dtype), low, high, where)
    return TaskAverages(jnp.where(data.valid, mean_down(data), 0), width_up(data), data.valid)


def check_task_sums(values: Callable[[], jax.Array], num_tasks: int, low: Any, high: Any, *, spans: int = 1) -> None:
    """Raise ValueError if numbers of the tasks, [..., n] and not negative, sum to more than the type can hold.

    ``values`` computes them, if they can be read and may be that large: up to so many ``spans`` of low to high.
    """
    if not is_concrete(low, high):
        return
    largest = float(jnp.finfo(low.dtype).max)
    most = spans * (float(np.max(np.asarray(high))) / largest - float(low) / largest)
    if 1 / num_tasks < most < np.inf:
        check_sums(values(), None, (0.0, min(most, 1.0) * largest), what="the averages of all tasks")


def is_one_trial_each(returns: Any) -> bool:
    """Whether they are returns [..., n, 1], of one rollout per task."""
    return not isinstance(returns, Summary) and np.ndim(returns) > 1 and np.shape(returns)[-1] == 1


def mean_of_trials(prepared: Prepared, delta: jax.Array) -> jax.Array:
    """At most the mean over tasks, from one trial of each, 0 or 1; -inf for others, which refute the support.

    Over tasks the trials are tosses of one coin, whose bias is the mean.
    """
    x, low, high, where = prepared
    trials = x[..., 0] if where is None else jnp.where(where[..., 0], x[..., 0], jnp.nan)
    lower = lower_bounds(CLOPPER_PEARSON, Prepared(trials, low, high, None), delta)
    return jnp.where(jnp.isnan(lower), -jnp.inf, lower)


def weighted_capped_mean(bound: Bound, prepared: Prepared, weights, largest, room, delta) -> jax.Array:
    """At most the mean over tasks from D' of min(J - a, room), [..., t]; -inf for invalid returns, weights or levels.

    It is room (1 - l) with l >= E_D'[1 - s] for the shares s = min(average - a, room) / room.
    """
    excess, _, valid = task_averages(prepared)
    positive, u = (room > 0) & jnp.isfinite(room), unit_roundoff(room.dtype)
    unit = jnp.broadcast_to(jnp.where(positive, room, 1), (*excess.shape, room.shape[-1]))
    share = quotient(jnp.minimum(excess[..., None], unit), unit) * (1 - 8 * u)
    parts = parts_of_largest(jnp.broadcast_to(weights, excess.shape), largest)
    loss = weighted_loss(bound, share, parts, delta)
    room, positive = (jnp.broadcast_to(each, loss.shape) for each in (room, positive))
    lower = next_down(room * complement_down(jnp.where(jnp.isnan(loss), 1, loss)))
    known = jnp.all(valid, axis=-1, keepdims=True) & positive & ~jnp.isnan(loss)
    return jnp.where(known, jnp.maximum(lower, 0), -jnp.inf)


_AVERAGE = Bound("average", mean_down, from_moments=True)


def mean_over_tasks(bound: Bound, values: jax.Array, level: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Lower bound on the mean expectation of independent values [..., n] in [low, high]; -inf for an invalid level."""
    return evaluate(bound, values, level, low, high, None)
