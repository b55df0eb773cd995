r"""Successes at all thresholds together: the numbers c that count do not depend on the threshold.

.. math:: \hat\varepsilon(B) = \min_c \min\Big(1, \frac{U(k_c; n, \eta)}{1 - \tau_B(c)}\Big), \qquad
          k_c = \#\{i : s_i < c\}

With p_c the probability that a new task has fewer than c successes, the only random event is p_c <= U(k_c; n, eta) for
all c: any of them may serve any threshold, even by a look at the data.
"""

import jax
import jax.numpy as jnp

from jaxcert.bounds._padding import Tasks
from jaxcert.certificates._compiled import count_violations, number_of
from jaxcert.certificates._method import Solution
from jaxcert.certificates.attained._attained import best_level, least_risk
from jaxcert.certificates.attained._levels import at_the_ends, attained, successes_near
from jaxcert.certificates.attained._unequal import unequal_risks

# All c of few rollouts; of more, for each threshold those at so many normal quantiles, and of unequal numbers of
# rollouts so many families of c, each with an equal share of delta.
NUM_NUMBERS = 16
_QUANTILES = tuple(2.5 - 0.3 * i for i in range(NUM_NUMBERS))


# --- as many rollouts in every task -------------------------------------------------------------------------------


def risks_everywhere(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, limits: jax.Array
) -> tuple[jax.Array, Solution, jax.Array]:
    """Violations, solution and level at the best c of each threshold [t], all but the solution [..., t].

    Args:
        count: successes of each task, -1 in an invalid one, [..., n].
        num_rollouts: m, a scalar of the type of the thresholds.
        thresholds: [t].
        limits: u_k for k = 0, ..., n, and more entries that are not used.
    """
    enough = numbers(num_rollouts, thresholds)
    level = attained(enough, num_rollouts, thresholds[:, None])
    violations = _below(count, enough)
    return best_level(violations, violations, limits, level, number_of(Tasks(count, count.shape[-1])))


@jax.jit
def numbers(num_rollouts: jax.Array, thresholds: jax.Array) -> jax.Array:
    """The c that are tried at each threshold, [t, 16]."""
    near = successes_near(num_rollouts, thresholds, quantiles=_QUANTILES)
    every = jnp.minimum(jnp.arange(1, NUM_NUMBERS + 1, dtype=near.dtype), num_rollouts)
    every = at_the_ends(jnp.broadcast_to(every, near.shape), num_rollouts, thresholds[:, None])
    return jnp.where(num_rollouts <= NUM_NUMBERS, every, near)


@jax.jit
def _below(count: jax.Array, enough: jax.Array) -> jax.Array:
    wanted = jnp.broadcast_to(enough.reshape(-1), (*count.shape[:-1], enough.size))
    return count_violations(count, wanted).reshape(*count.shape[:-1], *enough.shape)


# --- masks and summaries ------------------------------------------------------------------------------------------


@jax.jit
def risks_by_coins(
    count: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array, delta: jax.Array
) -> tuple[jax.Array, Solution, jax.Array]:
    """As ``risks_everywhere``, for rollouts [..., n]: each task has its own c in each of a few families."""

    def of_family(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
        enough, parts = families(num_rollouts)
        return at_the_ends(enough, num_rollouts[..., None], thresholds[..., None]), parts

    violations, epsilon, level = unequal_risks(count, num_rollouts, thresholds, of_family, delta)
    return least_risk(violations, epsilon, level, count.shape[-1])


def families(num_rollouts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """c of each task and family [..., n, 16], and the share of delta of each family [..., 16]."""
    m = jnp.broadcast_to(num_rollouts[..., None], (*num_rollouts.shape, NUM_NUMBERS))
    place = (jax.lax.broadcasted_iota(m.dtype, m.shape, m.ndim - 1) + 1) / NUM_NUMBERS
    parts = jnp.full((*num_rollouts.shape[:-1], NUM_NUMBERS), 1 / NUM_NUMBERS, num_rollouts.dtype)
    return jnp.ceil(place * m), parts
