"""The certificate on new tasks that differ from the sampled ones."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import kind_of
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._certificate import Certificate, Status
from jaxcert.certificates._divergence import DIVERGENCES, TOTAL_VARIATION, Divergence, bounded, enlarged
from jaxcert.numerics._rounding import complement_down
from jaxcert.numerics._summation import difference_down

# The fields of a certificate that a shift changes.
CHANGED = ("thresholds", "safety", "epsilon", "status")


def certify_shift(
    certificate: Certificate,
    *,
    divergence: str | None = None,
    radius: Numeric | None = None,
    performance_shift: Numeric | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify new tasks that differ from the sampled ones by a stated amount, from a certificate.

    If the certificate has the risk epsilon at B for tasks from D, then for every distribution D' within the radius, and
    every environment in which the policy's performance on a task, J', is at least J - c,

    .. math:: P_{M \sim D'}[J'_M \ge B - c] \ge 1 - \varepsilon', \qquad
              \varepsilon' = \texttt{shifted\_epsilon}(\varepsilon, \rho),

    in the same event of probability 1 - delta: for all D', radii, divergences and c together, so that they may be
    chosen after a look at the result. Nothing better holds as a function of epsilon and B.

    Everything else stays as before: the certificate is about the same quantity and still holds at all thresholds
    together or at every moment if it did. D' differs from the distribution that it was about (for ``certify_weighted``,
    the reweighted one).

    Args:
        certificate: of ``certify``, ``certify_safety_level``, ``certify_band``, ``certify_sequential``,
            ``certify_improvement`` and the like, also batched. Its thresholds stay as they were fixed, single or all
            together. Thresholds of safety levels stay as well, and their safety becomes smaller.
        divergence: "total_variation", "kl", "chi2" or "ratio", as in ``shifted_epsilon``; None for the same
            distribution.
        radius: the divergence of D' from D is at most this; a scalar (``jax.vmap`` for several).
        performance_shift: c >= 0 in the unit of the thresholds, a scalar: J' >= J - c for every task M, where J is a
            difference if the certificate is one of a difference. The thresholds become B - c, rounded down.
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, nothing is
            certified for them.

    Returns:
        A ``Certificate`` with arrays of the same shapes; the one that was shifted is its ``sampled``.

    Raises:
        ValueError: for a certificate that does not bound a share of tasks from below alone, or is one of a shift;
            another divergence, a radius or performance_shift out of range or with axes, a divergence without a radius
            or the reverse, and if neither a divergence nor a performance_shift is given.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> sampled = jaxcert.certify(returns, 400.0, support=(0, 1000), delta=0.01)
        >>> shifted = certify_shift(sampled, divergence="ratio", radius=2.0, performance_shift=25.0)
        >>> print(f"{sampled.safety[0]:.3f} at 400, {shifted.safety[0]:.3f} at {shifted.thresholds[0]:.0f}")
        0.976 at 400, 0.952 at 375
        >>> print(certify_shift(sampled, divergence="kl", radius=0.02))
        With confidence 0.99: on a new task from any distribution within KL divergence 0.02 of the sampled one,
        the expected return is at least 400 with probability at least 0.9396.

    Reference: the theory page, section 19.
    """
    _check_certificate(certificate)
    kind, dtype = _chosen(divergence, radius, performance_shift), certificate.epsilon.dtype
    within = _scalar("radius", radius, dtype, kind.least, kind.largest, kind.expected, validate)
    expected = "a finite number of at least 0"
    lower = _scalar("performance_shift", performance_shift, dtype, 0.0, np.inf, expected, validate)
    fields = _shifted(kind, {name: getattr(certificate, name) for name in CHANGED}, within, lower)
    shift = {"divergence": divergence, "radius": within, "performance_shift": lower}
    return dataclasses.replace(certificate, **fields, **shift, history=None, sampled=certificate)


@functools.partial(jax.jit, static_argnums=0)
def _shifted(divergence: Divergence, before: dict, radius: jax.Array, lower: jax.Array) -> dict[str, jax.Array]:
    bad, thresholds, status = jnp.isnan(radius) | jnp.isnan(lower), before["thresholds"], before["status"]
    epsilon = jnp.where(bad, 1.0, enlarged(divergence, before["epsilon"], radius))
    safety = jnp.where(bad, 0.0, jnp.minimum(before["safety"], complement_down(epsilon)))
    says_nothing = (epsilon >= 1) & ((status == Status.CERTIFIED.value) | (status == Status.OUT_OF_RANGE.value))
    status = jnp.where(says_nothing, Status.VACUOUS.value, status)
    status = jnp.where(bad, Status.INVALID_INPUT.value, status).astype(jnp.int32)
    lower = jnp.broadcast_to(lower, thresholds.shape)
    stay = (lower == 0) | ~jnp.isfinite(thresholds)
    thresholds = jnp.where(stay, thresholds, difference_down(thresholds, lower))
    return {"thresholds": thresholds, "safety": safety, "epsilon": epsilon, "status": status}


def _chosen(divergence: str | None, radius: Any, performance_shift: Any) -> Divergence:
    """The divergence with that name; where the distribution is the same, total variation, of radius 0."""
    if divergence is None and radius is not None:
        raise ValueError(f"radius is given without a divergence; expected one of {', '.join(DIVERGENCES)}")
    if divergence is None and performance_shift is None:
        raise ValueError("nothing is shifted; expected a divergence with its radius, a performance_shift, or both")
    if divergence is None:
        return TOTAL_VARIATION
    chosen = choose("divergence", divergence, DIVERGENCES)
    if radius is None:
        raise ValueError(f"divergence is {divergence!r} without a radius; expected {chosen.expected}")
    return chosen


def _scalar(name: str, value: Any, dtype: np.dtype, *allowed: Any) -> jax.Array:
    """The value rounded up, as ``bounded``; 0 where none is given."""
    if np.ndim(value):
        raise ValueError(f"{name} has shape {np.shape(value)}; expected a scalar (use jax.vmap for several)")
    return jax.device_put(np.zeros((), dtype)) if value is None else bounded(name, value, dtype, *allowed)


def _check_certificate(certificate: Any) -> None:
    if isinstance(getattr(certificate, "certificate", None), Certificate):
        raise ValueError(f"certificate is {kind_of(certificate)} with rollouts; expected its .certificate")
    if not (isinstance(certificate, Certificate) and certificate.question):  # an estimate answers none
        raise ValueError(
            f"certificate is {kind_of(certificate)}; expected one of a share of new tasks, such as certify returns"
        )
    if certificate.sampled is not None:
        raise ValueError(
            "certificate is shifted already; expected its .sampled, and one shift by both: total variation distances "
            "and performance shifts add up, ratios multiply"
        )
    if certificate.safety_upper is not None:
        raise ValueError(
            "certificate is of an interval, whose upper end would be lost; apply shifted_epsilon to its epsilon and to "
            "its safety_upper"
        )
