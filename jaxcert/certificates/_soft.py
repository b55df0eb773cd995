"""Soft counts: the evidence of each task against a bad performance, and the certified risk from its mean."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound, Rollouts, rollouts_of, usable
from jaxcert.certificates._averages import mean_loss, ratios_of, risk_of_loss, weighted_epsilon
from jaxcert.certificates._counting import fields_of_risk
from jaxcert.certificates._method import Method
from jaxcert.numerics._batches import as_memory_allows, in_front
from jaxcert.numerics._bets import factor, mean_wealth_down, ratio_of
from jaxcert.numerics._elementary import exp, log
from jaxcert.numerics._rounding import cast_host, in_unit, unit_roundoff
from jaxcert.numerics._summation import sum_error
from jaxcert.returns._sample import Sample

# Large, since a few rollouts give no evidence otherwise; below 1, where a single return of a would take all of it.
BETS = (0.625, 0.9375)


def least_evidence(num_rollouts: int, dtype: np.dtype) -> np.ndarray:
    """Upper limit on the evidence of at most ``num_rollouts`` rollouts that all return a."""
    least = sum((1 - bet) ** num_rollouts for bet in BETS) / len(BETS)
    return cast_host(np.asarray(least * (1 - 1e-12)), dtype, "down")


def evidence(sample: Sample, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns [..., n, m] and thresholds [t] to e-values [..., n, t], 0 in an invalid task, and the valid tasks."""
    data: Any = rollouts_of(sample, binary=False)
    x = data.x
    terms = x.size * x.dtype.itemsize * 2 * len(BETS)
    columns = as_memory_allows(lambda threshold: _against(data, threshold), thresholds, terms)
    valid = usable(data.valid, data.refuted)
    return jnp.where(valid[..., None], jnp.moveaxis(columns, 0, -1), 0), valid


def _against(data: Rollouts, threshold: jax.Array) -> jax.Array:
    """E against J < B, [...]."""
    width = threshold - data.low

    def terms(excess: jax.Array) -> tuple:
        """For each bet at most ln(1 - bet + bet (x - a)/(B - a)), of a number off by at most 6 u; and its size."""
        logs = [log(factor(bet, ratio_of(excess, width))) for bet in BETS]  # bets have few digits
        return tuple((term, jnp.abs(term)) for term in logs)

    sums = data.sum(terms)
    u = unit_roundoff(data.x.dtype)
    # The logarithm (3 u), this difference and its terms in proportion to the size; a factor by 6 u.
    relative, each = sum_error(data.x.shape[-1], data.x.dtype) + 8 * u, 8 * u * data.num_rollouts
    # A wealth that the type cannot hold becomes the largest number, which is less and so safe.
    most = float(jnp.finfo(data.x.dtype).max)
    products = [jnp.minimum(exp(total - (relative * size + each)), most) for total, size in sums]
    mean = mean_wealth_down(products, error=2)  # of the exponential
    return jnp.where(threshold <= data.low, jnp.inf, mean)


@jax.jit
def soft_epsilon(
    wealth: jax.Array, alpha: jax.Array, delta: jax.Array, least: Numeric = 0.0, where: jax.Array | None = None
) -> jax.Array:
    r"""The certified risk from e-values of n tasks, for scalars alpha and delta of their type.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{1 - L}{1 - \alpha}\Big), \qquad
              L \text{ the betting lower bound at level } \delta \text{ on the mean of } \min(1, \alpha E_i)
              \in [\alpha E_{min}, 1].

    One-sided. Each E_i has a mean of at most 1 over the rollouts of its task if J < B, and the tasks are independent:
    no rule that saw one task chose the rollouts of another. ``wealth`` is E rounded down, [..., n, t], at least
    ``least``, and may be infinite; NaN counts as the least. The risk [..., t] is never below the exact one, and 1 for
    levels outside (0, 1). Equation (9.3) of the theory page.
    """
    valid = in_unit(alpha)
    share, low = shares(wealth, jnp.where(valid, alpha, 0.5), least)
    return risk_of_loss(mean_loss(BETTING, share, delta, low, where), alpha)


def shares(wealth: jax.Array, alpha: jax.Array, least: Numeric) -> tuple[jax.Array, jax.Array]:
    """At most min(1, alpha E), the part of a task that does not count, and at most the least that it can be."""
    u = unit_roundoff(wealth.dtype)
    low = alpha * least * (1 - 4 * u)
    low = jnp.where(low >= 2 * float(jnp.finfo(low.dtype).tiny), low, 0)
    share = jnp.where(wealth > 0, jnp.minimum(alpha * wealth * (1 - 4 * u), 1), 0)
    return jnp.maximum(share, low), low


def default_alpha(num_rollouts: int) -> float:
    """The weight for a planned number of rollouts per task: the smaller, the more there are (docs/few_rollouts.md)."""
    return 1 / (1 + 0.3125 * num_rollouts**0.75)


def count_evidence(
    method: Method, bound: Bound, sample: Sample, thresholds, alpha, delta, least: jax.Array
) -> dict[str, Any]:
    """From the evidence of each task, whose weight is alpha."""
    wealth, valid = evidence(sample, thresholds)
    there = in_front(valid, sample.num_tasks) if sample.padded else None
    return fields_of_evidence(sample, wealth, valid, sample.low, thresholds, alpha, delta, least, there)


def fields_of_evidence(
    sample: Sample, wealth, valid, low, thresholds, alpha, delta, least: jax.Array, there: Any
) -> dict[str, Any]:
    """The fields of certificates, from e-values [..., n, t] and masks [..., n] of the tasks that are valid and
    present; the tasks of the sample may have weights.
    """
    if sample.weights is None:
        epsilon = soft_epsilon(wealth, alpha, delta, least, there)
    else:
        valid = valid & ratios_of(sample)[1]
        wealth = jnp.where(valid[..., None], wealth, 0)
        share, smallest = shares(wealth, alpha, least)
        epsilon = weighted_epsilon(share, sample, alpha, delta, smallest)
        # If there is no evidence, as for refuted returns, the weights certify nothing.
        epsilon = jnp.where(jnp.any(wealth > 0, axis=-2), epsilon, 1.0)
    there = jnp.ones(valid.shape, bool) if there is None else there
    convincing = jnp.sum((wealth > 1) & there[..., None], axis=-2, dtype=jnp.int32)
    n = jnp.sum(there, axis=-1, keepdims=True, dtype=jnp.int32)
    # The end of the support is all that is said of a single task; without a weight, nothing is said.
    lower = jnp.where(valid & (alpha > 0), low, -jnp.inf)
    bad_task = jnp.any(jnp.isneginf(lower) & there, axis=-1, keepdims=True)
    fields = fields_of_risk(n - convincing, epsilon, thresholds, alpha, delta, n, bad_task)
    return fields | {"lower_bounds": lower}


SOFT = Method(
    "soft",
    None,
    count=count_evidence,
    known=lambda method, sample, *_: least_evidence(int(sample.num_rollouts), sample.dtype),
    default_beta=lambda delta, num_tasks, num_rollouts: default_alpha(int(num_rollouts)),
    bound=BETTING,
    summaries=False,
)
