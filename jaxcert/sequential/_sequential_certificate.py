"""The certificate of a sequential experiment: by counting tasks, or by their evidence."""

import dataclasses

import jax
import jax.numpy as jnp

from jaxcert.bounds._padding import Tasks, padded_tasks
from jaxcert.certificates._access import BY_THRESHOLD
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_derived, certify_given
from jaxcert.certificates._soft import SOFT, soft_count
from jaxcert.sequential._wealth import SequentialState


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SequentialCertificate(Certificate, shifts=True):
    """A ``Certificate`` at one moment of a sequential experiment.

    The lower bound of a task is the largest threshold that it has passed, and the lower end of the support if none; for
    binary returns and predictable bets, the largest up to which it has passed all.

    Attributes:
        num_rollouts_used: rollouts of each task until it passed, was given up or the data ended, int32[..., n, t].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert.sequential import certify_sequential
        >>> found = certify_sequential(jnp.full((200, 100), 0.9), 0.5, support=(0, 1), delta=0.01)
        >>> print(int(found.num_rollouts_used.sum()))
        1400
    """

    num_rollouts_used: jax.Array = dataclasses.field(metadata=BY_THRESHOLD)


def certificate_of(state: SequentialState, delta: jax.Array) -> SequentialCertificate:
    """The certificate at this moment, for a delta of the state's type."""
    found = certify_given("sequential", BINOMIAL, padded_tasks(state.lower_bounds), state.thresholds, state.beta, delta)
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return SequentialCertificate(**fields, num_rollouts_used=state.num_rollouts_used)


def soft_certificate(state: SequentialState, delta: jax.Array) -> SequentialCertificate:
    """The soft count of the wealth with which each task stopped, beta being its weight, for a delta of its type.

    Sound only if no task's rollouts depended on another's returns: a state that was continued by such a rule is not
    covered (theory page, section 9). A task that has passed stopped there, with a wealth of at least its goal.
    """
    trivial = jnp.broadcast_to(state.thresholds <= state.low, state.passed.shape)
    wealth = jnp.where(trivial, jnp.inf, state.mean_wealth)
    wealth = jnp.where(state.valid[..., None], wealth, 0)
    derived = soft_count(wealth, Tasks(state.valid, state.valid.shape[-1]), state.low, state.beta, delta)
    found = certify_derived("sequential", SOFT, derived, state.thresholds, state.beta, delta)
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return SequentialCertificate(**fields, num_rollouts_used=state.num_rollouts_used)
