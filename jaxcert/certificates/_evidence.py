r"""The evidence that a fixed number of rollouts gives against J < B: an e-value per task, rounded down.

.. math:: E = \frac1G \sum_{\lambda} \prod_{j \le m} \Big(1 - \lambda + \lambda \frac{X_j - a}{B - a}\Big)

over G fixed bets. Each factor has a mean of at most 1 if J < B, and so has E; infinity where B <= a.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Rollouts, rollouts, usable
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import cast_host, unit_roundoff
from jaxcert.numerics._summation import sum_error
from jaxcert.returns._prepared import Prepared

# Large, since a few rollouts give no evidence otherwise; below 1, where a single return of a would take all of it.
BETS = (0.625, 0.9375)

# Thresholds are taken in blocks of so many that their terms take at most about 256 MB.
_BLOCK_BYTES = 2**28


def least_evidence(num_rollouts: int, dtype: np.dtype) -> np.ndarray:
    """At most the evidence of that many rollouts, or fewer, that all return a."""
    least = sum((1 - bet) ** num_rollouts for bet in BETS) / len(BETS)
    return cast_host(np.asarray(least * (1 - 1e-12)), dtype, "down")


def evidence(prepared: Prepared, thresholds: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns [..., n, m] and thresholds [t] to e-values [..., n, t], 0 in an invalid task, and the valid tasks."""
    x, low, high, where = prepared
    data = rollouts(x, jnp.full((), 0.5, x.dtype), low, high, where, binary=False)
    block = max(1, _BLOCK_BYTES // (x.size * x.dtype.itemsize * 2 * len(BETS)))
    columns = jax.lax.map(lambda threshold: _against(data, threshold), thresholds, batch_size=block)
    valid = usable(data.valid, data.refuted)
    return jnp.where(valid[..., None], jnp.moveaxis(columns, 0, -1), 0), valid


def _against(data: Rollouts, threshold: jax.Array) -> jax.Array:
    """E against J < B, [...]."""
    width = _width(threshold, data.low)
    sums = data.sum(lambda excess: tuple(_with_size(_log_factor(excess, width, bet)) for bet in BETS))
    u = unit_roundoff(data.x.dtype)
    # The logarithm (3 u), this difference and its terms in proportion to the size; a factor by 6 u.
    relative, each = sum_error(data.x.shape[-1], data.x.dtype) + 8 * u, 8 * u * data.num_rollouts
    # Beyond the type, a share of the largest number, which is less.
    most = float(jnp.finfo(data.x.dtype).max) / len(BETS)
    products = [jnp.minimum(exp(total - (relative * size + each)), most) for total, size in sums]
    # The exponential (2 u), the sum over the bets and two products with constants.
    mean = functools.reduce(jnp.add, products) * ((1 - (len(BETS) + 6) * u) / len(BETS))
    return jnp.where(threshold <= data.low, jnp.inf, mean)


def _width(threshold: jax.Array, low: jax.Array) -> jax.Array:
    """B - a; infinite, so that nothing is gained, where a device may read the difference as 0 or lose its digits."""
    width = threshold - low
    return jnp.where(width >= _least(width.dtype), width, jnp.inf)


def _log_factor(excess: jax.Array, width: jax.Array, bet: float) -> jax.Array:
    """ln(1 - bet + bet (x - a)/(B - a)), of a number that is off by at most 6 u; or of a smaller one.

    Two differences and a quotient, 4 u, a product and a sum; bets have few digits.
    """
    shape, most = excess.shape, float(jnp.finfo(excess.dtype).max)
    excess = jnp.where(excess >= _least(excess.dtype), jnp.minimum(excess, most), 0)
    ratio = quotient(excess, jnp.broadcast_to(width, shape))
    # Finite, so that the sum of several is no infinity; small quotients lose digits on a GPU.
    ratio = jnp.where(ratio >= 2.0**-90, jnp.minimum(ratio, most / 4), 0)
    return log((1 - bet) + bet * ratio)


def _with_size(terms: jax.Array) -> tuple[jax.Array, jax.Array]:
    return terms, jnp.abs(terms)


def _least(dtype: np.dtype) -> float:
    return 2.0 ** (-900 if dtype == jnp.float64 else -100)
