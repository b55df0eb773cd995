"""Plots of certificates and of sweeps over their settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import chex
import numpy as np

from jaxcert._validation import kind_of
from jaxcert.baselines import PlugInEstimate
from jaxcert.certificates import Certificate, confidence
from jaxcert.questions._answers import of_type
from jaxcert.report.plots._axes import GREY, drawing, dress, name, styles
from jaxcert.sweep import SweepResult


def plot_certificates(
    certificates: Certificate | Mapping[str, Certificate],
    *,
    exact: tuple[chex.Array, chex.Array] | None = None,
    points: Sequence[tuple[float, float]] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    r"""Draw the certified safety of one or several certificates as step curves.

    Safety does not increase with the threshold, so a certificate at a threshold holds at every lower one as well:
    between two thresholds a curve shows the value of the upper one. Thresholds may be in any order.

    Args:
        certificates: one, or several by their label in the legend. All have the same delta; safety is [t], not batched.
        exact: thresholds [g] in increasing order and the exact safety S(B) [g] there, where it is known.
        points: (threshold, certified safety) pairs to mark.
        title: text before the confidence in the title, such as the name of the task distribution.
        ax: axes of matplotlib to draw in; by default the axes of a new figure, for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: no certificate, one of no share of tasks (a mean, say), a batched one, or certificates with
            different delta; one that answers no question that is known.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

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
    left = min([float(certificate.thresholds.min()) for certificate in named.values()] + [x for x, _ in points])
    with drawing(ax) as ax:
        ax.margins(x=0.02)
        if exact is not None:
            ax.plot(*exact, color="black", linewidth=0.9, label="exact S(B)")
        for (label, certificate), style in zip(named.items(), styles(), strict=False):
            ax.plot(*_steps(certificate, left), drawstyle="steps-pre", label=_label(label, certificate), **style)
        if points:
            ax.plot(*zip(*points, strict=True), "o", color=GREY, markersize=4, zorder=3, label="requested")
        together = all(getattr(one, "simultaneous", False) for one in named.values())
        when = "all at once" if together else "each fixed beforehand"
        heading = f"{title}: {claim}" if title else claim.capitalize()
        certified = "certified " if any(map(_holds, named.values())) else ""
        level = "margin c" if all(map(_compares, named.values())) else "threshold B"
        dress(ax, title=heading, xlabel=f"{level}, {when}", ylabel=f"{certified}safety 1−ε")
        ax.set_ylim(-0.02, 1.02)
    return ax


def _claim(certificates: Mapping[str, Certificate]) -> str:
    """The title's statement; raises for certificates that cannot be drawn."""
    if not certificates:
        raise ValueError("certificates is empty, expected at least one to draw")
    for certificate in certificates.values():
        if _holds(certificate) and not of_type(certificate)[0].has_curve:
            raise ValueError(f"certificates hold {kind_of(certificate)}; expected certificates of a share of new tasks")
    batched = [label for label, certificate in certificates.items() if certificate.safety.ndim != 1]
    if batched:
        raise ValueError(f"certificate {batched[0]!r} is batched, expected safety of shape [t]")
    deltas = sorted({confidence(float(certificate.delta)) for certificate in certificates.values()})
    if len(deltas) > 1:
        raise ValueError(f"certificates have confidence {', '.join(deltas)}, expected the same for all of one plot")
    sound = {_holds(certificate) for certificate in certificates.values()}
    if sound == {True}:
        return f"certified with confidence {deltas[0]}"
    return f"no certificate, but as with confidence {deltas[0]}" if sound == {False} else f"confidence {deltas[0]}"


def _holds(certificate: Any) -> bool:
    """Whether it is more than an estimate in the form of a certificate."""
    return not isinstance(certificate, PlugInEstimate)


def _compares(certificate: Any) -> bool:
    """Whether it is of several policies."""
    return _holds(certificate) and len(of_type(certificate)[0].inputs) > 1


def _label(label: str, certificate: Any) -> str | None:
    """Its entry in the legend, which says if the curve is none of one policy on tasks like the sampled ones."""
    note = certificate._apart
    return " ".join(filter(None, [label, f"({note})" if label and note else note])) or None


def _steps(certificate: Certificate, left: float) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds in increasing order and the safety there; the safety at the lowest one extends down to `left`."""
    thresholds = np.asarray(certificate.thresholds)
    order = np.argsort(thresholds)
    safety = np.asarray(certificate.safety)[order]
    return np.append(left, thresholds[order]), np.append(safety[0], safety)


# Axes of a sweep whose settings make one curve each.
_SETTINGS = ("budget", "bound", "method", "beta", "delta")


def plot_sweep(
    result: SweepResult, *, quantiles: tuple[float, float] = (0.1, 0.9), title: str = "", ax: Any = None
) -> Any:
    """Draw the certified safety against the threshold for every setting: its median over seeds, and a band.

    The band shows how certificates vary between seeds; it is no statement about the true safety.

    Args:
        result: of `jaxcert.sweep.sweep`.
        quantiles: lower and upper end of the band, shares of the seeds.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default the axes of a new figure, for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: quantiles that are not in increasing order within [0, 1].
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid([400, 500, 600], methods=("binomial", "scenario"))
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> [line.get_label() for line in plot_sweep(result).lines]
        ['binomial', 'scenario']
    """
    if not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise ValueError(f"quantiles is {quantiles!r}, expected two shares of the seeds in increasing order")
    thresholds = np.asarray(result.grid.thresholds)
    order = np.argsort(thresholds)
    low, middle, high = np.quantile(result.safety, (quantiles[0], 0.5, quantiles[1]), axis=0)[..., order]
    labels = _labels(result)
    with drawing(ax) as ax:
        for place, style in zip(np.ndindex(*middle.shape[:-1]), styles(), strict=False):
            ax.plot(thresholds[order], middle[place], label=labels[place] or None, **style)
            if len(result.safety) > 1:
                ax.fill_between(
                    thresholds[order], low[place], high[place], color=style["color"], alpha=0.2, linewidth=0
                )
        dress(ax, title=title, xlabel="threshold B", ylabel="certified safety 1−ε")
        ax.set_ylim(-0.02, 1.02)
    return ax


def plot_levels(result: SweepResult, *, threshold: float, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at one threshold over beta and delta: the mean over seeds, as a grid with figures.

    Args:
        result: of `jaxcert.sweep.sweep`, with one budget, bound and method.
        threshold: one of the grid's.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default the axes of a new figure, for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: several budgets, bounds or methods, or another threshold.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

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
    names = {axis: result.coordinates()[axis] for axis in _SETTINGS}
    labels = np.empty(result.safety.shape[1:-1], object)
    for place in np.ndindex(*labels.shape):
        chosen = zip(names.items(), place, strict=True)
        labels[place] = ", ".join(_cell_label(axis, values[i]) for (axis, values), i in chosen if len(values) > 1)
    return labels


def _cell_label(axis: str, value: Any) -> str:
    if axis in ("beta", "delta"):
        return "default β" if np.isnan(value) else f"{'β' if axis == 'beta' else 'δ'} = {value:g}"
    return str(value).replace("_", " ").replace("x", " × ") if axis == "budget" else str(value).replace("_", " ")
