"""The soft count: evidence against each task is added up, where the other methods count tasks beyond a level."""

from typing import NoReturn

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._evaluate import lower_bounds
from jaxcert.bounds._padding import Tasks, padded, tasks_there, unpadded_tasks
from jaxcert.certificates._compiled import number_of
from jaxcert.certificates._evidence import evidence, least_evidence
from jaxcert.certificates._method import Derived, FromReturns, Method, Solution
from jaxcert.numerics._batches import as_argument
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, unit_roundoff
from jaxcert.returns._prepared import Prepared


def soft_epsilon(
    wealth: jax.Array,
    alpha: jax.Array,
    delta: jax.Array,
    least: chex.Numeric = 0.0,
    where: jax.Array | None = None,
) -> jax.Array:
    r"""The certified risk from e-values of n tasks, for scalars alpha and delta of their type.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{1 - L}{1 - \alpha}\Big), \qquad
              L \text{ the betting lower bound at level } \delta \text{ on the mean of } \min(1, \alpha E_i)
              \in [\alpha E_{min}, 1].

    One-sided. Each E_i has a mean of at most 1 over the rollouts of its task if J < B, and the tasks are independent:
    no rule that saw one task chose the rollouts of another.

    Args:
        wealth: E, rounded down, float[..., n, t]; infinity is allowed, NaN counts as the least.
        alpha: the weight, fixed beforehand; outside (0, 1), the risk is 1.
        delta: outside (0, 1), the risk is 1.
        least: what no E can be below.
        where: which tasks there are, bool[..., n], whatever the returns are; all by default.

    Returns:
        float[..., t], never below the exact value.

    Reference: the theory page, section 9; its equation (9.3).
    """
    return _risk(lower_bounds(BETTING, _shares(wealth, alpha, least, where), delta), alpha)


@jax.jit
def _shares(wealth: jax.Array, alpha: jax.Array, least: chex.Numeric, where: jax.Array | None) -> Prepared:
    """``shares`` by threshold, [..., t, n], with their ends; of any weight instead of an invalid one."""
    share, low = shares(wealth, jnp.where((alpha > 0) & (alpha < 1), alpha, 0.5), least)
    share = jnp.moveaxis(share, -1, -2)
    there = None if where is None else jnp.broadcast_to(jnp.expand_dims(where, -2), share.shape)
    return Prepared(share, low, jnp.ones_like(low), there)


@jax.jit
def _risk(mean: jax.Array, alpha: jax.Array) -> jax.Array:
    valid = (alpha > 0) & (alpha < 1)
    rest = complement_down(jnp.where(valid, alpha, 0.5))
    ratio = quotient(complement_up(jnp.clip(mean, 0, 1)), jnp.broadcast_to(rest, mean.shape))
    # The quotient and this product: 3 u.
    risk = ratio * (1 + 6 * unit_roundoff(mean.dtype))
    return jnp.where(valid & (mean >= 0) & (risk < 1), risk, 1.0)


def shares(wealth: jax.Array, alpha: jax.Array, least: chex.Numeric) -> tuple[jax.Array, jax.Array]:
    """At most min(1, alpha E), the part of a task that does not count, and at most the least that it can be."""
    u = unit_roundoff(wealth.dtype)
    low = alpha * least * (1 - 4 * u)
    low = jnp.where(low >= 2 * float(jnp.finfo(low.dtype).tiny), low, 0)
    share = jnp.where(wealth > 0, jnp.minimum(alpha * wealth * (1 - 4 * u), 1), 0)
    return jnp.maximum(share, low), low


def default_alpha(num_rollouts: int) -> float:
    """The weight for a planned number of rollouts per task: the smaller, the more there are (docs/few_rollouts.md)."""
    return 1 / (1 + 0.3125 * num_rollouts**0.75)


def _solve(prepared: Prepared, thresholds: jax.Array, alpha: jax.Array, delta: jax.Array) -> Derived:
    n, m = prepared.returns.shape[-2:]
    wealth, valid = _evidence(padded(prepared), thresholds)
    return soft_count(wealth, Tasks(valid, n), prepared.low, alpha, delta, least_evidence(m, wealth.dtype))


_evidence = jax.jit(evidence)


def soft_count(
    wealth: jax.Array,
    valid: Tasks,
    low: jax.Array,
    alpha: jax.Array,
    delta: jax.Array,
    least: chex.Numeric = 0.0,
) -> Derived:
    """What certificates hold, from e-values [..., n, t] and the valid tasks [..., n], with ``soft_epsilon``'s risk.

    Tasks of a padding are not valid, and their e-values are 0.
    """
    least = as_argument(np.asarray(least, wealth.dtype), wealth)
    epsilon = soft_epsilon(wealth, alpha, delta, least, tasks_there(valid))
    lower, *counted = _counted(wealth, valid.values, low, alpha, epsilon, number_of(valid))
    return Derived(unpadded_tasks(Tasks(lower, valid.num_tasks)), *counted)


@jax.jit
def _counted(wealth, valid, low, alpha, epsilon, n) -> tuple[jax.Array, jax.Array, Solution]:
    convincing = jnp.sum(wealth > 1, axis=-2, dtype=jnp.int32)
    solution = Solution(epsilon.reshape(-1), convincing.reshape(-1), jnp.ones(epsilon.size, bool))
    # All that is said of a single task; without a weight, nothing is.
    lower = jnp.where(valid & (alpha > 0), low, -jnp.inf)
    return lower, n - convincing, solution


def _refuse(*_: object) -> NoReturn:
    raise ValueError("soft adds up evidence from the returns and counts no lower bounds; expected another method")


SOFT = Method("soft", _refuse, _refuse, from_returns=FromReturns(BETTING, default_alpha, _solve))
