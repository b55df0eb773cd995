"""The certificate on new tasks from a reweighted distribution."""

import dataclasses

import jax

from jaxcert.certificates._certificate import Certificate


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class WeightedCertificate(Certificate, shifts=True):
    """A ``Certificate`` for new tasks from another distribution D', of known density ratio to the sampled one.

    ``epsilon``, ``safety`` and ``status`` are those of D'. ``num_violations`` and ``num_valid`` count sampled tasks,
    without their weights; ``lower_bounds`` are -inf for a task with invalid returns or an invalid weight; with one
    of these, ``epsilon`` is 1. Its ``method`` is "weighted_binomial" or "weighted_soft".

    Attributes:
        max_weight: what no weight exceeds, as declared, rounded up, a scalar.
        effective_size: so many tasks of equal weights would have a mean as steady, (sum w)^2 / (sum w^2), of the valid
            weights; no part of the statement; float[...].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_weighted
        >>> returns, weights = jnp.full((200, 100), 0.9), jnp.tile(jnp.asarray([0.5, 1.5]), 100)
        >>> print(certify_weighted(returns, 0.8, weights, max_weight=1.5, support=(0, 1), delta=0.01))
        With confidence 0.99: on a new task from the reweighted distribution,
        the expected return is at least 0.8 with probability at least 0.9640.
    """

    max_weight: jax.Array
    effective_size: jax.Array

    @property
    def _apart(self) -> str:
        return "reweighted tasks"

    @property
    def _source(self) -> str:
        return "reweighted"
