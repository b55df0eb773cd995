"""The spread of a batch of certificates, over seeds say: the median, a band around it, and their words.

A band describes how certificates vary. It certifies nothing: neither does a median of certified numbers.
"""

from typing import Any

import numpy as np

from jaxcert.certificates._batch_axes import same_for_all
from jaxcert.report.plots._axes import GREY, as_point

Quantiles = tuple[float, float]
_FAINT = {"alpha": 0.2, "linewidth": 0}
_BAR = 4


def check_quantiles(quantiles: Any, what: str = "seed") -> None:
    """Raise ValueError unless there are two quantiles."""
    if not (np.shape(quantiles) == (2,) and 0 <= quantiles[0] <= quantiles[1] <= 1):
        raise ValueError(f"quantiles is {quantiles!r}, expected two shares of the {what}s in increasing order")


def draw(
    ax: Any, x: Any, values: Any, label: str | None, style: dict[str, Any], quantiles: Quantiles, **steps: Any
) -> None:
    """Draw a curve, or of several [seeds, ...] their median in a band of its colour; without any width as a point."""
    is_point, is_batch = np.ptp(x) == 0, np.ndim(values) > 1
    levels = (quantiles[0], 0.5, quantiles[1])
    low, middle, high = np.quantile(values, levels, axis=0) if is_batch else (None, values, None)
    ax.plot(x, middle, label=label, **steps, **(as_point(style) if is_point else style))
    if is_batch:  # a bar of zero width has no area
        faint = _FAINT | ({"linewidth": _BAR} if is_point else {})
        ax.fill_between(x, low, high, step="pre" if steps else None, color=style["color"], **faint)


def explain_band(ax: Any, over: str, quantiles: Quantiles) -> None:
    """The last entry of the legend, which explains the bands of any colour."""
    low, high = (f"{100 * quantile:.3g} %" for quantile in quantiles)
    words = f"from {low} to {high} of the {_several(over)}"
    if tuple(quantiles) == (0, 1):
        words = f"from the lowest to the highest {over}"
    ax.fill([], [], color=GREY, label=f"{words}; no confidence band", **_FAINT)


def _several(word: str, count: int = 2) -> str:
    """A noun in singular or plural: seed or seeds, policies, classes."""
    if count == 1:
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x")) else f"{word}s"


def median_words(label: str, over: str, count: int) -> str:
    """The entry of a median in the legend."""
    return ", ".join(filter(None, [label, f"median of {count} {_several(over, count)}"]))


def check_batch(certificate: Any, expected: tuple[str, ...], instead: str, *, name: str = "certificate") -> None:
    """Raise ValueError unless a certificate has just these axes of a batch and, along them, the same thresholds."""
    shape = certificate.batch_shape
    if len(shape) != len(expected):
        axes = f"a batch over {', '.join(expected)}" if expected else "one certificate"
        held = f"a batch of {' × '.join(map(str, shape))}" if shape else "a single one"
        raise ValueError(f"{name} is {held}; expected {axes}: {instead}")
    if 0 in shape:
        raise ValueError(f"{name} is a batch of {' × '.join(map(str, shape))}; expected at least one")
    thresholds_of(certificate)


def thresholds_of(certificate: Any) -> np.ndarray:
    """The thresholds that all of a batch share, [t]."""
    shared = same_for_all(certificate.thresholds, certificate._own("thresholds"))
    if shared is None:
        raise ValueError("certificate is a batch with different thresholds; expected the same for all of it")
    return shared
