"""The complete step curve of a certificate."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_kind
from jaxcert.certificates import (
    AnytimeCertificate,
    BandCertificate,
    Certificate,
    ImprovementCertificate,
    IntervalCertificate,
    ShiftCertificate,
    Status,
    certify_lower_bounds,
    certify_lower_bounds_band,
)
from jaxcert.certificates._interval import interval_between
from jaxcert.certificates.anytime import certify_in_order
from jaxcert.sequential._sequential_certificate import SequentialCertificate


def step_curve(certificate: Certificate, *, max_points: int | None = None) -> Certificate:
    """Certify every distinct lower bound as a threshold: the right end of each step of the curve.

    Between two neighbouring points the number of violations, and so the certified safety, is that of the upper one.
    Each point holds for a threshold that was fixed beforehand, not for one chosen after a look at the curve, unless the
    certificate is a band. A curve says what its certificate does: of two policies it is one of their difference, and an
    interval has both ends at each of its points.

    Args:
        certificate: for one set of tasks; its lower_bounds [n], beta, delta and method are used.
        max_points: keep at most so many steps, evenly spaced by rank, the first and the last among them. What is
            certified at a point holds below it, too, so that such a curve is valid, and lower than the complete one.

    Returns:
        A certificate whose thresholds are the distinct finite lower bounds, in increasing order.

    Raises:
        ValueError: max_points is less than 2, the certificate is batched, no lower bound is finite, or beta was chosen
            from the data: call `jaxcert.certify` with more thresholds then, as for weighted tasks. For a shift: call
            `jaxcert.certify_shift` with the curve. For a kind of certificate that is not known here.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.array([0.5, 0.25, 0.5]), jnp.array([0.0]), delta=0.1, beta=0.05)
        >>> print(step_curve(certificate).num_violations)
        [0 1]
    """
    if isinstance(certificate, ShiftCertificate):
        raise ValueError("certificate is one of a shift, expected that of the sampled tasks: shift its curve instead")
    check_kind("certificate", certificate, _CURVES, "its curve is not known here: certify more thresholds instead")
    lower_bounds = np.asarray(certificate.lower_bounds)
    if lower_bounds.ndim != 1:
        raise ValueError(f"certificate has lower_bounds of shape {lower_bounds.shape}, expected [n]")
    if certificate.beta.ndim:
        raise ValueError("certificate has a beta for each threshold, expected one: certify more thresholds instead")
    levels = thinned(np.unique(lower_bounds[np.isfinite(lower_bounds)]), max_points)
    if not levels.size:
        raise ValueError("certificate has no finite lower bound, expected at least one for a curve")
    return at_bounds(certificate, certificate.lower_bounds, levels)


def at_bounds(certificate: Certificate, lower_bounds: Any, levels: np.ndarray) -> Certificate:
    """The certificate by the same settings of other lower bounds [n], at these thresholds."""
    curve = _CURVES[type(certificate)](certificate, lower_bounds, levels)
    if certificate.bound != "given" and np.isneginf(lower_bounds).any():
        # Of given bounds it is one of which nothing is known, of returns one that is invalid.
        curve = dataclasses.replace(curve, status=jnp.full_like(curve.status, Status.INVALID_INPUT.value))
    return dataclasses.replace(curve, bound=certificate.bound)


def thinned(values: np.ndarray, most: int | None) -> np.ndarray:
    """At most so many of these values, evenly spaced in their order, the first and the last among them."""
    if most is None or len(values) <= most:
        return values
    if most < 2:
        raise ValueError(f"max_points is {most}; expected at least 2, the ends of the curve")
    return values[np.linspace(0, len(values) - 1, most).round().astype(int)]


def _of_counts(certificate: Certificate, lower_bounds: Any, levels: np.ndarray) -> Certificate:
    settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "method": certificate.method}
    return certify_lower_bounds(lower_bounds, levels, **settings)


def _of_differences(certificate: Certificate, lower_bounds: Any, levels: np.ndarray) -> ImprovementCertificate:
    found = _of_counts(certificate, lower_bounds, levels)
    return ImprovementCertificate(**{field.name: getattr(found, field.name) for field in dataclasses.fields(found)})


def _of_band(certificate: BandCertificate, lower_bounds: Any, levels: np.ndarray) -> BandCertificate:
    settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "low": certificate.low}
    settings |= {"kind": certificate.method, "num_smallest": certificate.num_smallest}
    return certify_lower_bounds_band(lower_bounds, levels, **settings)


def _in_order(certificate: AnytimeCertificate, lower_bounds: Any, levels: np.ndarray) -> AnytimeCertificate:
    settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta}
    prior = certificate.prior[0], certificate.prior[1]
    return certify_in_order(certificate.bound, lower_bounds, jnp.asarray(levels), **settings, prior=prior)


def _of_both_ends(certificate: IntervalCertificate, lower_bounds: Any, levels: np.ndarray) -> IntervalCertificate:
    arrays = (lower_bounds, certificate.upper_bounds, levels, certificate.beta, certificate.delta)
    return interval_between(certificate.bound, *map(jnp.asarray, arrays))


_CURVES: dict[type, Callable[[Any, Any, np.ndarray], Certificate]] = {
    AnytimeCertificate: _in_order,
    BandCertificate: _of_band,
    Certificate: _of_counts,
    ImprovementCertificate: _of_differences,
    IntervalCertificate: _of_both_ends,
    SequentialCertificate: _of_counts,
}
