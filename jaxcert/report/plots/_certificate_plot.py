"""Plots of certificates and of sweeps over their settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import kind_of
from jaxcert.baselines import PlugInEstimate
from jaxcert.certificates import Certificate, confidence
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.questions import question_of
from jaxcert.report.plots._axes import GREY, drawing, dress, name, styles
from jaxcert.report.plots._seed_spread import (
    Quantiles,
    check_batch,
    check_quantiles,
    draw,
    explain_band,
    median_words,
    singular,
    thresholds_of,
)
from jaxcert.sweep import SweepResult


def plot_certificates(
    certificates: Certificate | Mapping[str, Certificate],
    *,
    exact: tuple[chex.Array, chex.Array] | None = None,
    points: Sequence[tuple[float, float]] = (),
    band: str = "",
    quantiles: Quantiles = (0, 1),
    policies: Sequence[str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    r"""Draw the certified safety of one or several certificates as step curves.

    Safety does not increase with the threshold, so a certificate at a threshold holds at every lower one as well:
    between two thresholds a curve shows the value of the upper one. Thresholds may be in any order. What would be a
    curve without any width, as of a single threshold, is a point.

    Args:
        certificates: one, or several by their label in the legend. All have the same delta; safety is [t], or with
            `band` [seeds, t].
        exact: thresholds [g] in increasing order and the exact safety S(B) [g] there, where it is known.
        points: (threshold, certified safety) pairs to mark.
        band: what the axis of a batch runs over, in a word, such as "seed". Then the curve is the median over it, and
            the band shows how the certificates vary; it is no confidence band, and the median is no certificate.
        quantiles: lower and upper end of the band, shares of the batch; by default from the least to the largest.
        policies: what A and B are called, in the legend of a difference.
        title: text before the confidence in the title, such as the name of the task distribution.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no certificate, one of no share of tasks (a mean, say), or certificates with different delta; one
            that answers no question that is known; a batch without `band`, or over
            several axes.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.linspace(0.0, 1.0, 50), jnp.linspace(0.0, 1.0, 21), delta=0.01, beta=0.05)
        >>> plot_certificates({"binomial": certificate}, title="Example").get_title()
        'Example: certified with confidence 0.99'
        >>> import numpy as np
        >>> seeds = jaxcert.certify_lower_bounds(  # [5 seeds, 50 tasks]
        ...     np.random.default_rng(0).uniform(size=(5, 50)), jnp.linspace(0.0, 1.0, 21), delta=0.01, beta=0.05)
        >>> plot_certificates(seeds, band="seed").get_legend_handles_labels()[1]
        ['median of 5 seeds', 'from the lowest to the highest seed; no confidence band']
    """
    named = certificates if isinstance(certificates, Mapping) else {"": certificates}
    band = singular(band)
    claim = _claim(named, band)
    check_quantiles(quantiles, band or "seed")
    asked = [question_of(one) for one in named.values() if _holds(one)]
    left = min([float(certificate.thresholds.min()) for certificate in named.values()] + [x for x, _ in points])
    with drawing(ax) as ax:
        ax.margins(x=0.02)
        if exact is not None:
            ax.plot(*exact, color="black", linewidth=0.9, label="exact S(B)")
        for (label, certificate), style in zip(named.items(), styles(), strict=False):
            text, (x, safety) = _label(label, certificate, policies), _steps(certificate, left)
            if certificate.batch_shape:
                text = median_words(text or "", band, len(safety))
            draw(ax, x, safety, text, style, quantiles, drawstyle="steps-pre")
        if band:
            explain_band(ax, band, quantiles)
        if points:
            ax.plot(*zip(*points, strict=True), "o", color=GREY, markersize=4, zorder=3, label="requested")
        heading = f"{title}: {claim}" if title else claim.capitalize()
        dress(ax, title=heading, **_axis_names(named, asked), shares=True)
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
    """Whether it is more than an estimate in the form of a certificate."""
    return not isinstance(certificate, PlugInEstimate)


def _axis_names(certificates: Mapping[str, Certificate], asked: Sequence[Question]) -> dict[str, str]:
    """Which axis was fixed beforehand and which is certified; ``asked``: what those that are no estimates answer."""
    together = all(getattr(one, "simultaneous", False) for one in certificates.values())
    when = "all at once" if together else "each fixed beforehand"
    compares = len(asked) == len(certificates) and all(len(question.inputs) > 1 for question in asked)
    level, safety = "margin c" if compares else "threshold B", "safety 1−ε"
    if any(question.finds_threshold for question in asked):
        return {"xlabel": f"certified {level}", "ylabel": f"{safety}, {when}"}
    return {"xlabel": f"{level}, {when}", "ylabel": f"certified {safety}" if asked else safety}


def _label(label: str, certificate: Any, policies: Sequence[str]) -> str | None:
    """Its entry in the legend, which says if the curve is none of one policy on tasks like the sampled ones."""
    note = naming(certificate._apart, policies)
    return " ".join(filter(None, [label, f"({note})" if label and note else note])) or None


def _steps(certificate: Certificate, left: float) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds in increasing order and the safety there, [..., t]; at the lowest one it extends down to `left`."""
    thresholds = thresholds_of(certificate)
    order = np.argsort(thresholds)
    safety = np.asarray(certificate.safety)[..., order]
    return np.append(left, thresholds[order]), np.concatenate([safety[..., :1], safety], axis=-1)


# Axes of a sweep whose settings make one curve each.
_SETTINGS = ("budget", "bound", "method", "beta", "delta")


def plot_sweep(result: SweepResult, *, quantiles: Quantiles = (0.1, 0.9), title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety against the threshold for every setting: its median over seeds, and a band.

    The band shows how certificates vary between seeds; it is no statement about the true safety.

    Args:
        result: of `jaxcert.sweep.sweep`.
        quantiles: lower and upper end of the band, shares of the seeds.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: quantiles that are not in increasing order within [0, 1].
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid([400, 500, 600], methods=("binomial", "scenario"))
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> [line.get_label() for line in plot_sweep(result).lines]
        ['binomial', 'scenario']
    """
    check_quantiles(quantiles)
    thresholds = np.asarray(result.grid.thresholds)
    order = np.argsort(thresholds)
    safety, labels = result.safety[..., order], _labels(result)
    with drawing(ax) as ax:
        for place, style in zip(np.ndindex(*labels.shape), styles(), strict=False):
            of_seeds = safety[:, *place] if len(safety) > 1 else safety[0, *place]
            draw(ax, thresholds[order], of_seeds, labels[place] or None, style, quantiles)
        dress(ax, title=title, xlabel="threshold B", ylabel="certified safety 1−ε", shares=True)
    return ax


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


def _labels(result: SweepResult) -> np.ndarray:
    """What distinguishes each setting from the others, [budget, bound, method, beta, delta]."""
    labels = np.empty(result.safety.shape[1:-1], object)
    for place in np.ndindex(*labels.shape):
        chosen = [(axis, result.coordinates()[axis][i]) for axis, i in zip(_SETTINGS, place, strict=True)]
        labels[place] = ", ".join(_label_of(*each) for each in chosen if len(result.coordinates()[each[0]]) > 1)
    return labels


def _label_of(axis: str, value: Any) -> str:
    if axis in ("beta", "delta"):
        return "default β" if np.isnan(value) else f"{'β' if axis == 'beta' else 'δ'} = {value:g}"
    return str(value).replace("_", " ").replace("x", " × " if axis == "budget" else "x")
