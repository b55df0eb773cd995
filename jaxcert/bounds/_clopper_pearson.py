"""The exact lower bound for binary returns."""

import jax

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, Rollouts, apply_bound, finish, successes_of
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import Support
from jaxcert.returns.summaries import Histogram


def clopper_pearson(
    x: Array | Histogram,
    beta: Numeric,
    *,
    support: Support = (0.0, 1.0),
    where: Array | None = None,
    validate: bool = True,
) -> jax.Array:
    r"""Clopper-Pearson lower confidence bound on the success probability of each task.

    .. math:: P[\mathrm{Bin}(m, L) \ge s] = \beta, \quad s = \textstyle\sum_j X_j, \qquad L = 0 \text{ at } s = 0.

    One-sided: P[L <= E[X]] >= 1 - beta per task, and no larger bound that is non-decreasing in s has this property.

    Args:
        x: successes as 0 and 1, [..., m], of any real type.
        beta: failure probability per task, in (0, 1); a scalar or an array that broadcasts to [...].
        support: (0, 1), present so that all bounds share one signature.
        where: bool[..., m], which rollouts count; all by default.
        validate: as in ``hoeffding``.

    Returns:
        Lower bounds, float[...], never above the exact value for the rounded beta.

    Raises:
        ValueError: as ``hoeffding``, and for a return that is neither 0 nor 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{clopper_pearson(jnp.ones(100), 0.05):.4f}")
        0.9705

    Reference: Clopper & Pearson (1934).
    """
    return apply_bound(CLOPPER_PEARSON, x, beta, support, where, validate)


def _clopper_pearson(data: Rollouts, beta: jax.Array) -> jax.Array:
    return finish(limit(*successes_of(data), beta, upper=False), data.low, data.valid)


CLOPPER_PEARSON = Bound("clopper_pearson", _clopper_pearson, needs_width=True, binary=True)
