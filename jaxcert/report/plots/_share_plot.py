"""Plots of the share of new tasks that is certified: by threshold, and by the settings of a sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import kind_of
from jaxcert.certificates import Certificate, confidence
from jaxcert.certificates._certificate import naming
from jaxcert.questions import question_of
from jaxcert.report.plots._axes import (
    GREY,
    Quantiles,
    check_batch,
    check_quantiles,
    draw,
    drawing,
    dress,
    explain_band,
    median_words,
    name,
    styles,
    thresholds_of,
)
from jaxcert.sweep import SweepResult

# Axes of a sweep whose settings make one curve each.
_SETTINGS = ("budget", "bound", "method", "beta", "delta")


def plot_certificates(
    certificates: Certificate | Mapping[str, Certificate] | SweepResult,
    *,
    exact: tuple[Array, Array] | None = None,
    points: Sequence[tuple[float, float]] = (),
    sampled: Array | None = None,
    band: str = "",
    quantiles: Quantiles = (0, 1),
    policies: Sequence[str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the certified safety of one or several certificates as step curves, or of every setting of a sweep.

    Safety does not increase with the threshold, so a certificate at a threshold holds at every lower one as well:
    between two thresholds a curve shows the value of the upper one. Thresholds may be in any order. A curve of zero
    width, as for a single threshold, is drawn as a point.

    Args:
        certificates: one, or several by their label in the legend. All have the same delta; safety is [t], or with
            `band` [seeds, t]. Or what `jaxcert.sweep.sweep` gives, whose batch is one of seeds.
        exact: thresholds [g] in increasing order and the exact safety S(B) [g] there, where it is known.
        points: (threshold, certified safety) pairs to mark.
        sampled: the mean return of each task, float[n], to draw the share of the sampled tasks that reach a threshold;
            it certifies nothing.
        band: what the axis of a batch runs over, in a word, such as "seed". Then the curve is the median over it, and
            the band shows how the certificates vary; it is no confidence band, and the median is no certificate.
        quantiles: lower and upper end of the band, shares of the batch; by default from the least to the largest.
        policies: what A and B are called, in the legend of a difference.
        title: text before the confidence in the title, such as the name of the task distribution.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no certificate, one of no share of tasks (a mean, say) or of no known question, certificates with
            different delta, a batch without `band`, or over several axes.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.linspace(0.0, 1.0, 50), jnp.linspace(0.0, 1.0, 21), delta=0.01, beta=0.05)
        >>> plot_certificates({"binomial": certificate}, title="Example").get_title()
        'Example: certified with confidence 0.99'
    """
    if isinstance(certificates, SweepResult):
        band, curves = "seed" if len(certificates.safety) > 1 else "", _of_sweep(certificates)
        words = {"title": title, "xlabel": "threshold B", "ylabel": "certified safety 1−ε"}
    else:
        named = certificates if isinstance(certificates, Mapping) else {"": certificates}
        claim = _claim(named, band)
        texts = [_label(*each, policies, band) for each in named.items()]
        curves = [(text, thresholds_of(one), one.safety) for text, one in zip(texts, named.values(), strict=True)]
        words = {"title": f"{title}: {claim}" if title else claim.capitalize(), **_axis_names(named)}
    check_quantiles(quantiles, band or "seed")
    left = min([float(thresholds.min()) for _, thresholds, _ in curves] + [x for x, _ in points])
    with drawing(ax) as ax:
        ax.margins(x=0.02)
        if exact is not None:
            ax.plot(*exact, color="black", linewidth=0.9, label="exact S(B)")
        for (label, thresholds, safety), style in zip(curves, styles(), strict=False):
            order = np.argsort(thresholds)
            x, y = np.append(left, thresholds[order]), np.asarray(safety)[..., order]
            y = np.concatenate([y[..., :1], y], axis=-1)  # at the lowest one it extends down to the left
            draw(ax, x, y, label, style, quantiles, drawstyle="steps-pre")
        if band:
            explain_band(ax, band, quantiles)
        if points:
            ax.plot(*zip(*points, strict=True), "o", color=GREY, markersize=4, zorder=3, label="requested")
        if sampled is not None:
            means = np.sort(sampled)
            # Up to each mean the share of those from it on; none lies beyond the largest.
            steps = np.append(means, means[-1]), 1 - np.arange(len(means) + 1) / len(means)
            ax.plot(*steps, ":", color=GREY, drawstyle="steps-pre", label="sampled tasks")
        dress(ax, **words, shares=True)
    return ax


def _claim(certificates: Mapping[str, Certificate], band: str) -> str:
    """The title's statement; raises for certificates that cannot be drawn."""
    if not certificates:
        raise ValueError("certificates is empty, expected at least one to draw")
    for certificate in certificates.values():
        if _holds(certificate) and not question_of(certificate).has_curve:
            raise ValueError(f"certificates hold {kind_of(certificate)}; expected certificates of a share of new tasks")
    if band and not any(certificate.batch_shape for certificate in certificates.values()):
        raise ValueError(f"band is {band!r}; expected a batch of certificates to draw the spread of")
    for label, certificate in certificates.items():
        if shape := certificate.batch_shape:
            one, some = ", ".join("0" for _ in shape), ", ".join([":", *("0" for _ in shape[1:])])
            instead = f"certificate[{one}], or band='seed' with certificate[{some}]"
            expected = (f"one axis, of {band}s",) if band else ()
            check_batch(certificate, expected, instead, name=f"certificate {label!r}" if label else "certificate")
    held = [float(delta) for certificate in certificates.values() for delta in np.ravel(certificate.delta)]
    deltas = sorted(set(map(confidence, held)))
    if len(deltas) > 1:
        raise ValueError(f"certificates have confidence {', '.join(deltas)}, expected the same for all of one plot")
    sound = {_holds(certificate) for certificate in certificates.values()}
    if sound == {True}:
        return f"{f'each {band} ' if band else ''}certified with confidence {deltas[0]}"
    return f"no certificate, but as with confidence {deltas[0]}" if sound == {False} else f"confidence {deltas[0]}"


def _holds(certificate: Any) -> bool:
    """Whether it is more than an estimate in the form of a certificate, as of `jaxcert.baselines`."""
    return getattr(certificate, "bound", "") != "plug_in"


def _axis_names(certificates: Mapping[str, Certificate]) -> dict[str, str]:
    """Which axis was fixed beforehand and which is certified, as stated by the certificates (not the estimates)."""
    asked = [question_of(one) for one in certificates.values() if _holds(one)]
    together = all(getattr(one, "simultaneous", False) for one in certificates.values())
    when = "all at once" if together else "each fixed beforehand"
    compares = len(asked) == len(certificates) and all(len(question.inputs) > 1 for question in asked)
    level, safety = "margin c" if compares else "threshold B", "safety 1−ε"
    if any(question.finds_threshold for question in asked):
        return {"xlabel": f"certified {level}", "ylabel": f"{safety}, {when}"}
    return {"xlabel": f"{level}, {when}", "ylabel": f"certified {safety}" if asked else safety}


def _label(label: str, certificate: Any, policies: Sequence[str], band: str) -> str | None:
    """The legend entry; it says if the curve is not about one policy on tasks like the sampled ones."""
    note = naming(certificate._apart, policies)
    text = " ".join(filter(None, [label, f"({note})" if label and note else note]))
    return (median_words(text, band, *certificate.batch_shape) if certificate.batch_shape else text) or None


def _of_sweep(result: SweepResult) -> list[tuple[str | None, np.ndarray, np.ndarray]]:
    """For each setting what distinguishes it from the others, the thresholds and the safety, [seeds, t]."""
    found, thresholds = [], np.asarray(result.grid.thresholds)
    for place in np.ndindex(*result.safety.shape[1:-1]):
        chosen = [(axis, result.coordinates()[axis][i]) for axis, i in zip(_SETTINGS, place, strict=True)]
        label = ", ".join(_label_of(*each) for each in chosen if len(result.coordinates()[each[0]]) > 1)
        safety = result.safety[:, *place] if len(result.safety) > 1 else result.safety[0, *place]
        found.append((label or None, thresholds, safety))
    return found


def _label_of(axis: str, value: Any) -> str:
    if axis in ("beta", "delta"):
        return "default β" if np.isnan(value) else f"{'β' if axis == 'beta' else 'δ'} = {value:g}"
    return str(value).replace("_", " ").replace("x", " × " if axis == "budget" else "x")


def plot_levels(result: SweepResult, *, threshold: float, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at one threshold over beta and delta: the mean over seeds, as a grid with figures.

    Args:
        result: of `jaxcert.sweep.sweep`, with one budget, bound and method.
        threshold: one of the grid's.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: several budgets, bounds or methods, or another threshold.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid(500, betas=(0.01, 0.05, 0.1), deltas=(0.01, 0.05))
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> plot_levels(result, threshold=500).get_xlabel()
        'β, of a single task'
    """
    places = np.flatnonzero(np.asarray(result.grid.thresholds) == threshold)
    if not places.size:
        raise ValueError(f"threshold is {threshold!r}, expected one of the grid's")
    if any(size != 1 for size in result.safety.shape[1:4]):
        raise ValueError("the sweep has several budgets, bounds or methods, expected one of each")
    safety = result.safety[:, 0, 0, 0, :, :, places[0]].mean(axis=0).T
    betas = ["default" if beta is None else f"{beta:g}" for beta in result.grid.betas]
    with drawing(ax) as ax:
        # Lighter is safer, in grey as well.
        picture = ax.imshow(safety, cmap="cividis", aspect="auto")
        for (row, column), value in np.ndenumerate(safety):
            colour = "black" if picture.norm(value) > 0.5 else "white"
            ax.text(column, row, f"{np.floor(1000 * value) / 1000:.3f}", ha="center", va="center", color=colour)
        ax.set_xticks(range(len(betas)), betas)
        ax.set_yticks(range(len(safety)), [f"{delta:g}" for delta in result.grid.deltas])
        name(ax, title=title or f"certified safety at {threshold:g}", xlabel="β, of a single task", ylabel="δ")
    return ax
