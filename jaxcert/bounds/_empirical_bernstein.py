"""Maurer and Pontil's empirical Bernstein lower bound."""

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, Rollouts, apply_bound, finish, mean_down, standard_deviation_up, width_up
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Histogram


def empirical_bernstein(
    x: Array | Histogram,
    beta: Numeric,
    *,
    support: Support,
    where: Array | None = None,
    validate: bool = True,
) -> jax.Array:
    r"""Empirical Bernstein lower confidence bound on the mean return of each task.

    .. math:: L = \bar X - \sqrt{2 V \ln(2/\beta) / m} - \frac{7 (b - a) \ln(2/\beta)}{3 (m - 1)},
              \quad \text{at least } a,

    with V the unbiased sample variance. One-sided: P[L <= E[X]] >= 1 - beta per task. Valid for i.i.d. returns in
    [a, b] and m >= 2.

    Args:
        x: returns, float[..., m].
        beta: failure probability per task, in (0, 1); a scalar or an array that broadcasts to [...].
        support: (a, b), declared before the data are seen; every return lies in it.
        where: bool[..., m], which rollouts count; all by default.
        validate: as in ``hoeffding``.

    Returns:
        Lower bounds, float[...], never above the exact value for the rounded arguments.

    Raises:
        ValueError: as ``hoeffding``, and for fewer than two rollouts of a task.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.tile(jnp.asarray([0.8, 1.0]), 50)
        >>> print(f"{empirical_bernstein(x, 0.05, support=(0.0, 1.0)):.4f}")
        0.7858

    Reference: Maurer & Pontil (2009), Theorem 4.
    """
    return apply_bound(EMPIRICAL_BERNSTEIN, x, beta, support, where, validate)


def _empirical_bernstein(data: Rollouts, beta: jax.Array) -> jax.Array:
    u = unit_roundoff(beta.dtype)
    m = jnp.maximum(data.num_rollouts, 2)
    # The rounding of the quotient changes its logarithm, which is at least ln 2, by at most 1.6 u.
    log_term = log(quotient(jnp.full_like(beta, 2), beta)) * (1 + 6 * u)
    mean = mean_down(data)
    spread = standard_deviation_up(data, mean) * jnp.sqrt(2 * log_term / m)
    tail = 7 * width_up(data) * log_term / (3 * (m - 1))
    return finish(mean - (spread + tail) * (1 + 10 * u), data.low, data.valid)


EMPIRICAL_BERNSTEIN = Bound("empirical_bernstein", _empirical_bernstein, min_rollouts=2, needs_width=True)
