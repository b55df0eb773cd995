"""The complete step curve of a certificate, also where its lower bounds were not counted."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate, Status
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.questions import QUESTIONS
from jaxcert.questions._answers import question_of, sampled
from jaxcert.questions._ask import ask
from jaxcert.tables import Returns

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
_MOST_POINTS = 1000


def step_curve(certificate: Certificate) -> Certificate:
    """Certify every distinct lower bound as a threshold: the right end of each step of the curve.

    Between two neighbouring points the certified safety is as at the upper one. Each point holds for a threshold that
    was fixed beforehand, not for one chosen after a look at the curve, unless the certificate is a band. For two
    policies the curve is about their difference; an interval has both ends at each of its points. Of more than 1000
    steps that many are kept, evenly spaced by rank, the first and the last among them: a certificate at a point also
    holds below it, so such a curve is valid, and lower than the complete one.

    Args:
        certificate: for one set of tasks; its lower_bounds [n], beta, delta and method are used.

    Raises:
        ValueError: the certificate is a batch or of a kind without a curve, no lower bound
            is finite, beta was chosen from the data, or the method counts no lower bounds: then certify more
            thresholds. For a shift: call `jaxcert.certify_shift` with the curve.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.array([0.5, 0.25, 0.5]), jnp.array([0.0]), delta=0.1, beta=0.05)
        >>> print(step_curve(certificate).num_violations)
        [0 1]
    """
    if sampled(certificate) is not certificate:
        raise ValueError(
            "certificate is shifted; expected the certificate of the sampled tasks: shift its curve instead"
        )
    if (asked := question_of(certificate)).curve is None:
        raise ValueError(f"certificate answers {asked.name!r}, which has no curve: certify more thresholds instead")
    check_single(certificate)
    lower_bounds = np.asarray(certificate.lower_bounds)
    if certificate.beta.ndim or not counts_bounds(certificate):
        what = f"certificate is by {certificate.method!r}, which counts no lower bounds at one beta"
        raise ValueError(f"{what}: certify more thresholds instead")
    levels = thinned(np.unique(lower_bounds[np.isfinite(lower_bounds)]))
    if not levels.size:
        raise ValueError("certificate has no finite lower bound, expected at least one for a curve")
    curve = asked.curve(certificate, certificate.lower_bounds, levels)
    if certificate.bound != "given" and np.isneginf(lower_bounds).any():
        # A given bound of -inf says that nothing is known of its task; one from returns, that they are invalid.
        curve = dataclasses.replace(curve, status=jnp.full_like(curve.status, Status.INVALID_INPUT.value))
    return curve


def thinned(values: np.ndarray) -> np.ndarray:
    """As many of these values as are drawn, evenly spaced in their order, including the first and the last."""
    if len(values) <= _MOST_POINTS:
        return values
    return values[np.linspace(0, len(values) - 1, _MOST_POINTS).round().astype(int)]


def curve_or_rows(data: Sequence[Returns], certificate: Any, settings: Mapping[str, Any]) -> Any:
    """All steps, or certificates at lower bounds that were not counted; of what has no curve its rows."""
    if question_of(certificate).curve is None:
        return certificate
    if (question := _at_thresholds(certificate)) is not None:
        return ask(question, data, thinned(np.unique(np.asarray(certificate.lower_bounds))), settings)
    return step_curve(certificate) if counts_bounds(certificate) else certificate


def _at_thresholds(certificate: Certificate) -> Question | None:
    """The question to ask again at each step, where each has a level of its own; else None (counted or soft bounds)."""
    method, question = METHODS.get(certificate.method), question_of(certificate)
    if question.finds_threshold:
        others = (each for each in QUESTIONS.values() if each.certificate is question.certificate)
        question = next(each for each in others if not each.finds_threshold)
    chooses = method is not None and method.counts_successes
    return question if not question.options and (certificate.beta.ndim or chooses) else None
