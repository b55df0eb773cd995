"""Certificates during training as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert.certificates import floor_figures
from jaxcert.report.plots._axes import MARKERS, drawing, dress, styles

if TYPE_CHECKING:
    from jaxcert.training import Checkpoint


def plot_training(checkpoints: Sequence["Checkpoint"], *, title: str = "", ax: Any = None) -> Any:
    """Draw the certified safety at every checkpoint of a training run, one line per threshold.

    With the probability that the run's budget leaves, the certificates of all checkpoints hold at once.

    Args:
        checkpoints: of a `jaxcert.training.CertificationHook`, with thresholds.
        title: of the axes.
        ax: axes of matplotlib to draw in; by default those of a new figure for one column of a paper.

    Returns:
        The axes; `save_figure` writes their figure.

    Raises:
        ValueError: no checkpoint, or one without a certificate at thresholds.
        ImportError: matplotlib is missing (`pip install 'jaxcert[plot]'`).

    Example:
        >>> plot_training(hook.checkpoints)  # doctest: +SKIP
    """
    if not checkpoints or any(one.safety is None for one in checkpoints):
        raise ValueError("expected checkpoints with certificates at thresholds, at least one")
    certificates = [one.safety for one in checkpoints if one.safety is not None]
    steps, safety = [one.step for one in checkpoints], np.stack([np.asarray(one.safety) for one in certificates])
    with drawing(ax) as ax:
        for place, (threshold, style) in enumerate(zip(certificates[0].thresholds.tolist(), styles(), strict=False)):
            label = f"at least {floor_figures(threshold)}"
            ax.plot(steps, safety[:, place], marker=MARKERS[place % len(MARKERS)], markersize=3, label=label, **style)
        dress(ax, title=title, xlabel="environment steps", ylabel="certified safety 1−ε")
        ax.set_ylim(-0.02, 1.02)
    return ax
