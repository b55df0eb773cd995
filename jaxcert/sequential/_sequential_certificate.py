"""The certificate of a sequential experiment."""

import dataclasses

import jax

from jaxcert.bounds._padding import padded_tasks
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_given
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

    num_rollouts_used: jax.Array

    _per_threshold = (*Certificate._per_threshold, "num_rollouts_used")


def certificate_of(state: SequentialState, delta: jax.Array) -> SequentialCertificate:
    """The certificate at this moment, for a delta of the state's type."""
    found = certify_given("sequential", BINOMIAL, padded_tasks(state.lower_bounds), state.thresholds, state.beta, delta)
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return SequentialCertificate(**fields, num_rollouts_used=state.num_rollouts_used)
