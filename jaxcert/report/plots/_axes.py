"""What all plots share: axes of a size that papers print, and styles that are told apart without colour."""

import contextlib
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

from jaxcert._extras import import_extra

# One column of a paper, in inches, with text of the size of its captions: printed as it is, not shrunk.
SIZE, _TEXT = (3.5, 2.5), {"font.size": 8, "axes.titlesize": 8, "legend.fontsize": 7}
# Each two at least 30 apart (CIE 1976) for every kind of colour vision; each has a line and a marker of its own.
COLOURS = ("#004488", "#bb5566", "#3d9bd1", "#8c8c28")
_LINES, MARKERS = ("-", "--", "-.", ":"), ("o", "s", "^", "D")
GREY = "#4a4a4a"


def styles() -> Iterator[dict[str, Any]]:
    """Colour and line of one curve after another: where colours repeat, they come with other lines."""
    for turn in itertools.count():
        for i, colour in enumerate(COLOURS):
            yield {"color": colour, "linestyle": _LINES[(i + turn) % len(_LINES)], "linewidth": 1.4}


@contextlib.contextmanager
def drawing(ax: Any) -> Iterator[Any]:
    """The axes given, with the user's sizes; without any, those of a new figure of pyplot, for one column."""
    if ax is not None:
        yield ax
        return
    pyplot = import_extra("matplotlib.pyplot", "plot")
    with pyplot.rc_context(_TEXT):
        yield pyplot.subplots(figsize=SIZE, dpi=200, layout="constrained")[1]


def dress(ax: Any, *, title: str, xlabel: str, ylabel: str, legend: str | None = "best") -> None:
    """Names, a faint grid, and a legend without a frame, if there is anything to name."""
    ax.set(title=_wrapped(title, ax), xlabel=xlabel, ylabel=ylabel)
    ax.grid(color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        texts = ax.legend(loc=legend, handlelength=2.8, framealpha=0.8, edgecolor="none").get_texts()
        _as_written(*texts)
    _as_written(ax.title)


def _wrapped(title: str, ax: Any) -> str:
    """The title in lines that fit above the axes; a figure that is cut off could be read as another one."""
    inches = ax.figure.get_size_inches()[0] * ax.get_position().width
    # About 0.56 em for each character.
    fitting = int(inches * 72 / (0.56 * ax.title.get_fontsize()))
    return textwrap.fill(title, max(fitting, 20), break_long_words=True)


def _as_written(*texts: Any) -> None:
    """Names of files and policies are no formulas, whatever signs they have."""
    for text in texts:
        text.set_parse_math(False)
