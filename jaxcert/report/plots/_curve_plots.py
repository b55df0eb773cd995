"""Curves and their plots: the share of new tasks that is certified, by threshold, and evidence over time."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._types import Array
from jaxcert._validation import kind_of
from jaxcert.certificates import Certificate, Status, confidence
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._registry import METHODS, counts_bounds
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.questions._answers import sampled
from jaxcert.questions._ask import ask
from jaxcert.report.plots._axes import GREY, as_point, drawing, dress, styles
from jaxcert.returns._labels import quoted
from jaxcert.tables import Returns

if TYPE_CHECKING:
    from jaxcert.monitoring import Row
    from jaxcert.rollouts import PairedTrials

# Points of a curve: more take a record of megabytes, and no eye tells them apart.
_MOST_POINTS = 1000
_LOWEST, _HIGHEST = -14.0, 700.0  # of the logarithms that are drawn


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


# --- over time -----------------------------------------------------------------------------------------------------


def plot_evidence(rows: "Sequence[Row]", *, alpha: float, title: str = "", ax: Any = None) -> Any:
    """Draw the evidence against a claim after each deployed task, and the evidence of a change.

    Args:
        rows: of a `jaxcert.monitoring.Monitor`.
        alpha: its probability of a false alarm; the alarm is at evidence of 1/alpha.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Example:
        >>> from jaxcert.monitoring import Row
        >>> rows = [Row(i, str(i), (0.0,), True, i / 2, i / 2) for i in range(1, 10)]
        >>> plot_evidence(rows, alpha=0.05).get_ylabel()
        'evidence'
    """
    numbers = [row.number for row in rows]
    curves = {
        "that the claim does not hold": [row.log_evidence for row in rows],
        "that it has ceased to hold": [row.log_change for row in rows],
    }
    return _evidence(ax, numbers, curves, {"alarm": 1 / alpha}, title=title, xlabel="deployed tasks")


def plot_pairs(trials: "PairedTrials", *, ax: Any = None) -> Any:
    """Draw the evidence that a policy is better than another, after each pair or block, by their labels in the log."""
    declared, evidence = trials.declared, trials.evidence()
    claims = [f"{one} better than {other}" for one, other in itertools.permutations(map(quoted, declared.labels), 2)]
    curves = sorted(zip(claims, np.log(evidence).T.tolist(), strict=True))  # an order that reveals no blinded policy
    level = {f"shown, with confidence {confidence(declared.delta)}": float(trials.state.goal[0])}
    how = {"title": trials.path.name, "xlabel": f"{declared.noun}s"}
    return _evidence(ax, range(len(evidence)), dict(curves), level, **how)


def _evidence(
    ax: Any, numbers: Sequence[int], curves: Mapping[str, Any], level: Mapping[str, float], **how: Any
) -> Any:
    """Draw logarithms of evidence over time by what it is evidence of, and the level at which it is enough."""
    with drawing(ax) as ax:
        for (label, logs), style in zip(curves.items(), styles(), strict=False):
            ax.plot(numbers, np.exp(np.clip(logs, _LOWEST, _HIGHEST)), label=label, **style)
        for what, enough in level.items():
            ax.axhline(enough, color=GREY, linewidth=0.9, linestyle=":", label=f"{what}: {enough:g}")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(import_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True))
        dress(ax, ylabel="evidence", **how)
    return ax
