"""Hoeffding's lower bound."""

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, Rollouts, apply_bound, finish, mean_down, width_up
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Histogram


def hoeffding(
    x: Array | Histogram,
    beta: Numeric,
    *,
    support: Support,
    where: Array | None = None,
    validate: bool = True,
) -> jax.Array:
    r"""Hoeffding's lower confidence bound on the mean return of each task.

    .. math:: L = \bar X - (b - a) \sqrt{\ln(1/\beta) / (2m)}, \quad \text{at least } a.

    One-sided: for each task, P[L <= E[X]] >= 1 - beta. Valid for independent returns in [a, b].

    Args:
        x: returns, float[..., m].
        beta: failure probability per task, in (0, 1); a scalar or an array that broadcasts to [...].
        support: (a, b), declared before the data are seen; every return lies in it.
        where: bool[..., m], which rollouts count; all by default.
        validate: raise for invalid values that are concrete. Otherwise, and under a transformation, they give -inf,
            which meets no threshold; but a return outside the support refutes the support and gives NaN.

    Returns:
        Lower bounds, float[...], never above the exact value for the rounded arguments.

    Raises:
        ValueError: for a return that is not finite or outside the support, a support without finite a < b, beta outside
            (0, 1), no rollouts, a task with every rollout masked, or shapes that do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{hoeffding(jnp.full(100, 0.9), 0.05, support=(0.0, 1.0)):.4f}")
        0.7776

    Reference: Hoeffding (1963), Theorem 2.
    """
    return apply_bound(HOEFFDING, x, beta, support, where, validate)


def _hoeffding(data: Rollouts, beta: jax.Array) -> jax.Array:
    u = unit_roundoff(beta.dtype)
    half_log = -jnp.log(beta) / (2 * jnp.maximum(data.num_rollouts, 1))
    radius = width_up(data) * jnp.sqrt(half_log) * (1 + 8 * u)
    return finish(mean_down(data) - radius * (1 + 2 * u), data.low, data.valid)


HOEFFDING = Bound("hoeffding", _hoeffding, needs_width=True, non_identical=True)
