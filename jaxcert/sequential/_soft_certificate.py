"""The soft count of tasks of which each stopped by its own returns alone."""

import dataclasses

import jax
import jax.numpy as jnp

from jaxcert.bounds._padding import Tasks
from jaxcert.certificates._compiled import certify_derived
from jaxcert.certificates._soft import SOFT, soft_count
from jaxcert.sequential._sequential_certificate import SequentialCertificate
from jaxcert.sequential._wealth import SequentialState


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
