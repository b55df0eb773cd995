"""Curves and their plots: the share of new tasks that is certified, by threshold."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array
from jaxcert._validation import kind_of
from jaxcert.certificates import Certificate, Status, confidence
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.questions._answers import sampled
from jaxcert.questions._ask import ask
from jaxcert.report._in_words import Sample
from jaxcert.report.plots._axes import GREY, as_point, drawing, dress, styles
from jaxcert.tables import Returns

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
_MOST_POINTS = 1000
# Requested points: more would hide the curve.
_MOST_REQUESTED = 20


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
    if not counts_bounds(certificate):
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
    """All steps, or certificates at lower bounds that were not counted; of what has no curve, and of soft counts, its
    rows.
    """
    question = question_of(certificate)
    if question.curve is not None and counts_bounds(certificate):
        return step_curve(certificate)
    if question.curve is None or not (certificate.beta.ndim or METHODS[certificate.method].counts_successes):
        return certificate
    if question.finds_threshold:  # asked again at each step, where each has a level of its own
        same = (each for each in QUESTIONS.values() if each.certificate is question.certificate)
        question = next(each for each in same if not each.finds_threshold)
    levels = thinned(np.unique(np.asarray(certificate.lower_bounds)))
    return certificate if question.options else ask(question, data, levels, settings)


def plot_certificates(
    certificates: Certificate | Mapping[str, Certificate],
    *,
    exact: tuple[Array, Array] | None = None,
    points: Sequence[tuple[float, float]] = (),
    sampled: Array | None = None,
    policies: Sequence[str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the certified safety of one or several certificates as step curves.

    Safety does not increase with the threshold, so a certificate at a threshold holds at every lower one as well:
    between two thresholds a curve shows the value of the upper one. Thresholds may be in any order. A curve of zero
    width, as for a single threshold, is drawn as a point.

    Args:
        certificates: one, or several by their label in the legend. All have the same delta; safety is [t].
        exact: thresholds [g] in increasing order and the exact safety S(B) [g] there, where it is known.
        points: (threshold, certified safety) pairs to mark.
        sampled: the mean return of each task, float[n], to draw the share of the sampled tasks that reach a threshold;
            it certifies nothing.
        policies: what A and B are called, in the legend of a difference.
        title: text before the confidence in the title, such as the name of the task distribution.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no certificate, one of no share of tasks (a mean, say) or of no known question, certificates with
            different delta, or a batch.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.linspace(0.0, 1.0, 50), jnp.linspace(0.0, 1.0, 21), delta=0.01, beta=0.05)
        >>> plot_certificates({"binomial": certificate}, title="Example").get_title()
        'Example: certified with confidence 0.99'
    """
    named = certificates if isinstance(certificates, Mapping) else {"": certificates}
    claim = _claim(named)
    words = {"title": f"{title}: {claim}" if title else claim.capitalize(), **_axis_names(named)}
    left = min([float(one.thresholds.min()) for one in named.values()] + [x for x, _ in points])
    with drawing(ax) as ax:
        ax.margins(x=0.02)
        if exact is not None:
            ax.plot(*exact, color="black", linewidth=0.9, label="exact S(B)")
        for (label, one), style in zip(named.items(), styles(), strict=False):
            order = np.argsort(one.thresholds)
            x, y = np.append(left, np.asarray(one.thresholds)[order]), np.asarray(one.safety)[order]
            style = as_point(style) if np.ptp(x) == 0 else style
            # At the lowest one it extends down to the left.
            ax.plot(x, np.append(y[:1], y), label=_label(label, one, policies), drawstyle="steps-pre", **style)
        if points:
            ax.plot(*zip(*points, strict=True), "o", color=GREY, markersize=4, zorder=3, label="requested")
        if sampled is not None:
            means = np.sort(sampled)
            # Up to each mean the share of those from it on; none lies beyond the largest.
            steps = np.append(means, means[-1]), 1 - np.arange(len(means) + 1) / len(means)
            ax.plot(*steps, ":", color=GREY, drawstyle="steps-pre", label="sampled tasks")
        ax.set_ylim(-0.02, 1.02)
        dress(ax, **words)
    return ax


def draw_curve(ax: Any, certificate: Certificate, sample: Sample) -> None:
    """On a page, certified safety by threshold: at each step, with the requested points if they are few, or at the
    thresholds that were asked for if no bounds were counted; and the share of the sampled tasks.
    """
    shown, points = step_curve(certificate) if counts_bounds(certificate) else certificate, []
    if len(certificate) <= _MOST_REQUESTED:
        points = list(zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True))
    plot_certificates({"certified": shown}, points=points, sampled=thinned(np.sort(sample.means)), ax=ax)
    ax.set(xlabel="difference" if sample.policies else "threshold", ylabel="share of tasks", title="")


def _claim(certificates: Mapping[str, Certificate]) -> str:
    """The title's statement; raises for certificates that cannot be drawn."""
    if not certificates:
        raise ValueError("certificates is empty, expected at least one to draw")
    for certificate in certificates.values():
        if not question_of(certificate).has_curve:
            raise ValueError(f"certificates hold {kind_of(certificate)}; expected certificates of a share of new tasks")
        check_single(certificate)
    deltas = sorted({confidence(float(certificate.delta)) for certificate in certificates.values()})
    if len(deltas) > 1:
        raise ValueError(f"certificates have confidence {', '.join(deltas)}, expected the same for all of one plot")
    return f"certified with confidence {deltas[0]}"


def _axis_names(certificates: Mapping[str, Certificate]) -> dict[str, str]:
    """Which axis was fixed beforehand and which is certified."""
    asked = [question_of(one) for one in certificates.values()]
    together = all(getattr(one, "simultaneous", False) for one in certificates.values())
    when = "all at once" if together else "each fixed beforehand"
    compares = all(len(question.inputs) > 1 for question in asked)
    level, safety = "margin c" if compares else "threshold B", "safety 1−ε"
    if any(question.finds_threshold for question in asked):
        return {"xlabel": f"certified {level}", "ylabel": f"{safety}, {when}"}
    return {"xlabel": f"{level}, {when}", "ylabel": f"certified {safety}"}


def _label(label: str, certificate: Any, policies: Sequence[str]) -> str | None:
    """The legend entry; it says if the curve is not about one policy on tasks like the sampled ones."""
    note = naming(certificate._apart, policies)
    return " ".join(filter(None, [label, f"({note})" if label and note else note])) or None
