"""What pictures and videos of zones share: the square with its zones, marks, and lines of text."""

import math
import textwrap
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tasks.zones._sizes import COLOURS, HALF_SIDE, RADIUS, STEP
from jaxcert.tasks.zones._trajectories import OUTCOMES

# Paul Tol's bright scheme, which the colour-blind can tell apart; besides, each zone has its initial.
PALETTE = {"red": "#ee6677", "green": "#228833", "purple": "#aa3377", "yellow": "#ccbb44"}
DARK = "#222222"
END_MARKERS = {"left the square": "D", "satisfied": "*", "violated": "X", "out of time": "s"}
# Half the side of what is drawn, in m, so that a robot that has left the square is seen.
_VIEW = HALF_SIDE + 0.1
# Width of a letter and height of a line, in sizes of the font.
_LETTER, LINE = 0.56, 1.35


def draw_world(axes: Any, centres: np.ndarray, letters: float) -> list[Any]:
    """The edge of the square and the zones, with letters of this size; gives the discs, in the order of the centres."""
    patches, effects = (import_extra(f"matplotlib.{name}", "plot") for name in ("patches", "patheffects"))
    axes.set(xlim=(-_VIEW, _VIEW), ylim=(-_VIEW, _VIEW), aspect="equal")
    axes.axis("off")
    corner, side = (-HALF_SIDE, -HALF_SIDE), 2 * HALF_SIDE
    axes.add_patch(patches.Rectangle(corner, side, side, facecolor="#fafafa", edgecolor="#8a8a8a", linewidth=0.8))
    discs = []
    for name, pair in zip(COLOURS, centres, strict=True):
        for centre in pair:
            disc = patches.Circle(tuple(centre), RADIUS, facecolor=(PALETTE[name], 0.6), edgecolor=PALETTE[name])
            discs.append(axes.add_patch(disc))
            words = {"ha": "center", "va": "center_baseline", "fontsize": letters, "fontweight": "bold"}
            words["path_effects"] = [effects.withStroke(linewidth=2, foreground="white", alpha=0.7)]
            axes.text(*centre, name[0].upper(), color=DARK, zorder=5, **words)
    return discs


def robot_corners(position: np.ndarray, heading: float, length: float) -> np.ndarray:
    """An arrowhead of this length, in m, along the heading, around the position; [4, 2]."""
    angles = heading + np.array([0.0, 2.5, np.pi, -2.5])
    radii = length * np.array([0.6, 0.5, 0.15, 0.5])
    return position + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def ending(outcome: int, num_steps: int) -> str:
    """How an episode ended, and when."""
    return f"{OUTCOMES[outcome]} after {num_steps * STEP:.1f} s"


def wrapped(text: str, width: float, font_size: float) -> list[str]:
    """As few lines as fit into this width, in inches, in letters of this size, in points; about equally long ones."""
    most = max(1, math.floor(width * 72 / (_LETTER * font_size)))
    fewest = len(_lines(text, most))
    return next(lines for letters in range(1, most + 1) if len(lines := _lines(text, letters)) <= fewest)


def _lines(text: str, most: int) -> list[str]:
    return textwrap.wrap(text, most, break_long_words=False)
