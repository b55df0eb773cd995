"""The certificate of a sequential experiment."""

import dataclasses

import jax
import jax.numpy as jnp

from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_passed
from jaxcert.sequential._wealth import SequentialState


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SequentialCertificate(Certificate):
    """A ``Certificate`` at one moment of a sequential experiment.

    A task counts at each threshold by whether it has passed that one. Its lower bound is the largest threshold up to
    which it has passed all, and the lower end of the support if none. Where larger thresholds are not always the harder
    ones, which are binary returns and predictable bets, a task may pass one above its lower bound.

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


def certificate_of(state: SequentialState, delta: jax.Array) -> SequentialCertificate:
    """The certificate at this moment, for a delta of the state's type."""
    passed = state.passed & state.valid[..., None]
    thresholds = jnp.broadcast_to(state.thresholds, passed.shape)
    # A task with J < B may pass B with probability beta, but B or another threshold with more (theory page, section 8).
    first = jnp.min(jnp.where(passed, jnp.inf, thresholds), axis=-1, keepdims=True)
    lower = jnp.max(jnp.where(thresholds < first, thresholds, state.low), axis=-1)
    lower = jnp.where(state.valid, jnp.maximum(lower, state.low), -jnp.inf)
    found = certify_passed("sequential", BINOMIAL, passed, lower, state.thresholds, state.beta, delta)
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return SequentialCertificate(**fields, num_rollouts_used=state.num_rollouts_used)
