"""Certified safety against the threshold, as a picture."""

import io
import itertools
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import chex
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix, write_whole
from jaxcert.certificates import Certificate, confidence

_CAPTION = "Each point holds by itself, for a threshold or a safety fixed before the data were seen."
COLOURS = ("#0b6e99", "#d1495b", "#6a994e", "#8d6a9f", "#e09f3e")
_GREY = "#4a4a4a"


def plot_certificates(
    certificates: Mapping[str, Certificate],
    *,
    exact: tuple[chex.Array, chex.Array] | None = None,
    points: Sequence[tuple[float, float]] = (),
    title: str = "",
) -> Any:
    r"""Draw the certified safety of one or several certificates as step curves.

    Safety does not increase with the threshold, so a certificate at a threshold holds at every lower one as well:
    between two thresholds a curve shows the value of the upper one. Thresholds may be in any order.

    Args:
        certificates: by their label in the legend. All have the same delta; safety is [t], not batched.
        exact: thresholds [g] in increasing order and the exact safety S(B) [g] there, where it is known.
        points: (threshold, certified safety) pairs to mark.
        title: text before the confidence in the title, such as the name of the task distribution.

    Returns:
        A `matplotlib.figure.Figure` that is not registered with pyplot; see `save_figure`.

    Raises:
        ValueError: no certificate, a batched one, or certificates with different delta.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.linspace(0.0, 1.0, 50), jnp.linspace(0.0, 1.0, 21), delta=0.01, beta=0.05)
        >>> figure = plot_certificates({"binomial": certificate}, title="Example")
        >>> figure.axes[0].get_title()
        'Example: certified with confidence 0.99'
    """
    claim = _claim(certificates)
    figure, axes = new_axes()
    axes.margins(x=0.02)
    if exact is not None:
        axes.plot(*exact, color=_GREY, linewidth=1.4, label="exact S(B)")
    left = min([float(certificate.thresholds.min()) for certificate in certificates.values()] + [x for x, _ in points])
    for (label, certificate), colour in zip(certificates.items(), itertools.cycle(COLOURS), strict=False):
        axes.plot(*_steps(certificate, left), color=colour, linewidth=1.8, drawstyle="steps-pre", label=label)
    if points:
        axes.plot(*zip(*points, strict=True), "o", color=_GREY, markersize=5, zorder=3, label="requested")
    _dress(figure, axes, f"{title}: {claim}" if title else claim.capitalize())
    return figure


def save_figure(path: str | PathLike[str], figure: Any) -> None:
    """Write a figure, completely or not at all; the suffix of `path` gives the format.

    Args:
        path: the file, which is replaced if it exists.
        figure: a matplotlib figure.

    Raises:
        ValueError: matplotlib does not write such files, or no file can be written there.

    Example:
        >>> import pathlib, tempfile
        >>> from matplotlib.figure import Figure
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_figure(pathlib.Path(folder) / "empty.svg", Figure())
        ...     [file.name for file in pathlib.Path(folder).iterdir()]
        ['empty.svg']
    """
    path = check_figure_path(path)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower())
    write_whole(path, buffer.getvalue())


def check_figure_path(path: str | PathLike[str]) -> Path:
    """The path, if a figure can be written there; checked before a long computation.

    Args:
        path: the file; its suffix gives the format.

    Raises:
        ValueError: matplotlib does not write such files, or no file can be written there.

    Example:
        >>> check_figure_path("curve.png").name
        'curve.png'
    """
    bases = import_extra("matplotlib.backend_bases", "plot")
    check_suffix(path, [f".{name}" for name in bases.FigureCanvasBase.get_supported_filetypes()])
    return check_output(path)


def new_axes() -> tuple[Any, Any]:
    """An empty figure with its axes."""
    figure = import_extra("matplotlib.figure", "plot").Figure(figsize=(8.0, 4.5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.grid(color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _claim(certificates: Mapping[str, Certificate]) -> str:
    """The title's statement; raises for certificates that cannot be drawn."""
    if not certificates:
        raise ValueError("certificates is empty, expected at least one to draw")
    batched = [label for label, certificate in certificates.items() if certificate.safety.ndim != 1]
    if batched:
        raise ValueError(f"certificate {batched[0]!r} is batched, expected safety of shape [t]")
    deltas = sorted({confidence(float(certificate.delta)) for certificate in certificates.values()})
    if len(deltas) > 1:
        raise ValueError(f"certificates have confidence {', '.join(deltas)}, expected the same for all of one plot")
    return f"certified with confidence {deltas[0]}"


def _steps(certificate: Certificate, left: float) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds in increasing order and the safety there; that of the lowest one extends down to `left`."""
    thresholds = np.asarray(certificate.thresholds)
    order = np.argsort(thresholds)
    safety = np.asarray(certificate.safety)[order]
    return np.append(left, thresholds[order]), np.append(safety[0], safety)


def _dress(figure: Any, axes: Any, title: str) -> None:
    """Axes, legend and caption."""
    axes.set(title=title, xlabel="threshold B", ylabel="certified safety 1−ε", ylim=(-0.02, 1.02))
    axes.legend(frameon=False, loc="lower left")
    figure.supxlabel(_CAPTION, x=0.99, ha="right", fontsize=8, color=_GREY)
