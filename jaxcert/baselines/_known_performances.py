"""The certificate that exact knowledge of the sampled tasks would give."""

from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_finite, is_concrete, require_real
from jaxcert.bounds._padding import padded_tasks
from jaxcert.certificates import Certificate
from jaxcert.certificates._arguments import prepare_thresholds
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._compiled import certify_given
from jaxcert.numerics._rounding import cast, compute_dtype
from jaxcert.returns._prepared import probability


def certify_known_performances(
    performances: chex.Array | Sequence[float],
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    delta: chex.Numeric,
    validate: bool = True,
) -> Certificate:
    r"""Certify from the exact performances of the sampled tasks: what no number of rollouts can improve on.

    With k the number of sampled tasks with J < B, at each threshold B, fixed before the data are seen,

    .. math:: \hat\varepsilon(B) = U(k; n, \delta), \qquad P[\mathrm{Bin}(n, U) \le k] = \delta,

    which is the binomial certificate with beta = 0 (one-sided). Sound where the performances are known, as in a world
    with an exact truth. The distance from it is what a method loses by the rollouts; what is lost by the tasks, it
    loses too. For averages of rollouts in place of performances, which is not sound, see ``certify_plug_in``.

    Args:
        performances: J, float[..., n], finite, of n i.i.d. tasks; leading axes are batched.
        thresholds: float[t], or a scalar for one.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        validate: raise for invalid values that are concrete. Otherwise, and for traced values, a performance that is
            not finite counts as a violation, and the status says so.

    Returns:
        A ``Certificate`` with arrays [..., t], ``bound`` "known", beta 0, and the performances as ``lower_bounds``.

    Raises:
        ValueError: for invalid shapes or values.

    Example:
        >>> import jax.numpy as jnp
        >>> certificate = certify_known_performances(jnp.arange(100.0), 5.0, delta=0.01)
        >>> print(int(certificate.num_violations[0]), f"{certificate.safety[0]:.4f}")
        5 0.8741

    Reference: the theory page, section on the binomial certificate.
    """
    known = _prepare(performances, validate)
    checks: dict[str, Any] = {"validate": validate, "scalar": True}
    delta = probability("delta", delta, known.dtype, "down", **checks)
    thresholds = prepare_thresholds(thresholds, known.dtype, validate)
    return certify_given("known", BINOMIAL, padded_tasks(known), thresholds, no_failure(known.dtype), delta)


def no_failure(dtype: np.dtype) -> jax.Array:
    """Beta of numbers that are known, or taken for known; an explicit transfer, which a guard allows."""
    return jax.device_put(np.zeros((), dtype))


def _prepare(performances: Any, validate: bool) -> jax.Array:
    """Performances [..., n] rounded down; -inf, a violation, in place of what is not finite."""
    require_real("performances", performances)
    shape, dtype = np.shape(performances), compute_dtype(performances)
    if not shape or shape[-1] == 0:
        raise ValueError(f"performances have shape {shape}; expected [..., num_tasks] with at least one task")
    if validate and is_concrete(performances):
        check_finite("performances", performances, dtype=dtype)
    return _finite(cast(performances, dtype, "down"))


@jax.jit
def _finite(known: jax.Array) -> jax.Array:
    return jnp.where(jnp.isfinite(known), known, -jnp.inf)
