"""Lower bounds on the mean from the Dvoretzky-Kiefer-Wolfowitz inequality."""

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, Rollouts, apply_bound, finish
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import next_down, unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Histogram


def dkw(
    x: Array | Histogram,
    beta: Numeric,
    *,
    support: Support,
    where: Array | None = None,
    validate: bool = True,
) -> jax.Array:
    r"""Lower confidence bound on the mean return of each task from a band around its distribution function.

    .. math:: L = a + \int_a^\infty (1 - \hat F(x) - q)_+ \, dx, \qquad q = \sqrt{\ln(1/\beta) / (2 m)},

    with Massart's one-sided constant, for a beta of at most 1/2; a larger one is used as 1/2. The integral is never
    smaller than the paper's sum of order statistics, whose constant is the two-sided one, ln(2/beta).
    One-sided: P[L <= E[X]] >= 1 - beta per task. Valid for i.i.d. returns X >= a; b may be infinite.

    Args:
        x: returns, float[..., m].
        beta: failure probability per task, in (0, 1); a scalar or an array that broadcasts to [...].
        support: (a, b), declared before the data are seen; every return lies in it.
        where: bool[..., m], which rollouts count; all by default.
        validate: as in ``hoeffding``.

    Returns:
        Lower bounds, float[...], never above the exact value for the rounded arguments.

    Raises:
        ValueError: as ``hoeffding``; b may be infinite.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.linspace(0.5, 1.0, 100)
        >>> print(f"{dkw(x, 0.05, support=(0.0, 1.0)):.4f}")
        0.6311

    Reference: Massart (1990), Corollary 1.
    """
    return apply_bound(DKW, x, beta, support, where, validate)


def _dkw(data: Rollouts, beta: jax.Array) -> jax.Array:
    ordered, before, repeats = _ordered(data)
    m = jnp.maximum(data.num_rollouts, 1)
    # The logarithm is off by 4.6 u at most, half of which is left under the root.
    cut = jnp.sqrt(m * -log(jnp.minimum(beta, 0.5)) * 0.5) * (1 + 6 * unit_roundoff(m.dtype))
    # At most m (1 - q) of the smallest order statistics carry weight.
    weight = jnp.clip(next_down(m - cut)[..., None] - before, 0, repeats)
    # The largest values have weight 0; masked ones, sorted last, are infinite and must not be multiplied by it.
    total = tree_sum(jnp.where(weight > 0, weight * jnp.where(weight > 0, ordered, 0), 0))
    slack = sum_error(ordered.shape[-1], ordered.dtype) + 7 * unit_roundoff(ordered.dtype)
    return finish(quotient(total, m) * (1 - slack), data.low, data.valid)


def _ordered(data: Rollouts) -> tuple[jax.Array, jax.Array, jax.Array | int]:
    """Values in increasing order, how many rollouts come before each, and how many it stands for."""
    if data.repeats is not None:
        # Integers within the significand: the sums are exact.
        return data.excess(data.x, None), jnp.cumsum(data.repeats, axis=-1) - data.repeats, data.repeats
    excess = data.excess(data.x, data.mask)
    x = excess if data.mask is None else jnp.where(data.mask, excess, jnp.inf)
    rank = jnp.arange(x.shape[-1], dtype=x.dtype)
    return jnp.sort(x, axis=-1), rank.reshape((1,) * (x.ndim - 1) + (-1,)), 1


DKW = Bound("dkw", _dkw)
