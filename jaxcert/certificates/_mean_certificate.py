"""A certified mean over tasks."""

import dataclasses
import decimal
from typing import ClassVar

import jax
import numpy as np

from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import Status, is_difference, new_tasks_from
from jaxcert.certificates._figures import ceil_figures, floor_figures
from jaxcert.certificates._headline import LISTED, SAMPLED, Headline, InWords, nothing, short_figures


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MeanCertificate(InWords):
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

    _shown: ClassVar = ("mean", "alpha", "delta", "num_tasks", "bound", "quantity")

    def _has_axes(self, name: str) -> bool:
        """Whether there are several shares: alpha has an axis more than delta then."""
        return np.ndim(self.alpha) > np.ndim(self.delta)

    def _sentence(self, index: int) -> str:
        """In words, with every figure rounded to the safe side: a smaller share of worst tasks has a smaller mean."""
        mean, alpha, status = (np.ravel(column)[index].item() for column in (self.mean, self.alpha, self.status))
        if not np.isfinite(mean):
            return (
                f"{self._start}: nothing is certified about the mean of the {self.quantity} ({Status(status).advice})."
            )
        tasks = "" if alpha >= 1 else f" over the {self._worst(_percent(alpha))}"
        return (
            f"{self._start}: over {self._over}, the {self.quantity} is at least "
            f"{floor_figures(mean)} on average{tasks}.{_NOTES.get(Status(status), '')}"
        )

    def _headline(self, index: int) -> Headline:
        mean, alpha, status = (np.ravel(column)[index].item() for column in (self.mean, self.alpha, self.status))
        if not np.isfinite(mean) or status == Status.VACUOUS:
            return nothing(f"about the mean of the {self.quantity}, {self._sure}")
        tasks, _, source = self._over.partition(" from ")
        over = tasks if alpha >= 1 else f"the {self._worst(_percent(alpha)).replace('of tasks', f'of {tasks}')}"
        claim = f"At least {short_figures(mean)} on average over {over}"
        return Headline(claim, f"is the {self.quantity}, {f'for tasks from {source}, ' if source else ''}{self._sure}")

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
