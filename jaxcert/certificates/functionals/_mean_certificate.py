"""A certified mean over tasks."""

import dataclasses
import decimal

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates._access import Plain, holds_values, listed
from jaxcert.certificates._certificate import Status
from jaxcert.certificates._figures import ceil_figures, confidence, figures_row, floor_figures


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

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_mean
        >>> print(certify_mean(jnp.full((200, 5), 0.9), support=(0, 1), delta=0.01))
        With confidence 0.99: over new tasks from the same distribution,
        the expected return is at least 0.8795... on average.
    """

    mean: jax.Array
    alpha: jax.Array
    cap: jax.Array
    status: jax.Array
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    quantity: str = dataclasses.field(metadata={"static": True})

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

    def _is_single(self) -> bool:
        """Whether it can be read, and has no batch axes."""
        return holds_values(self) and self.mean.shape == self.alpha.shape and not self.delta.ndim

    def _sentence(self, index: int) -> str:
        """In words, with every figure rounded to the safe side: a smaller share of worst tasks has a smaller mean."""
        mean, alpha, status = (np.ravel(column)[index].item() for column in (self.mean, self.alpha, self.status))
        start = f"With confidence {confidence(float(self.delta))}"
        if not np.isfinite(mean):
            return f"{start}: nothing is certified about the mean of the {self.quantity} ({Status(status).advice})."
        tasks = "" if alpha >= 1 else f" over the worst {_percent(alpha)} % of tasks"
        return (
            f"{start}: over new tasks from the same distribution, the {self.quantity} is at least "
            f"{floor_figures(mean)} on average{tasks}.{_NOTES.get(Status(status), '')}"
        )


_NOTES = {Status.VACUOUS: " (the least that is possible: sample more tasks or rollouts)"}


def _percent(share: float) -> str:
    """The share in per cent, rounded up."""
    return f"{(100 * decimal.Decimal(ceil_figures(share))).normalize():f}"


def mean_status(mean: jax.Array, least: jax.Array) -> jax.Array:
    """Invalid input, which has a mean of -inf, vacuous or certified."""
    status = jnp.where(mean > least, Status.CERTIFIED.value, Status.VACUOUS.value)
    return jnp.where(mean > -jnp.inf, status, Status.INVALID_INPUT.value).astype(jnp.int32)
