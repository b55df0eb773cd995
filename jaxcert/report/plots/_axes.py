"""Axes in one style, the files of figures, and figures as elements of a page."""

import contextlib
import io
import itertools
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from jaxcert._extras import import_extra
from jaxcert.tables._files import check_output, check_suffix, write_whole

# The width of one column of a paper, in inches, with text of caption size, so that it is printed unscaled.
SIZE, _TEXT = (3.5, 2.5), {"font.size": 8, "axes.titlesize": 8, "legend.fontsize": 7}
# Each two at least 30 apart (CIE 1976) for every kind of colour vision; each has a line and a marker of its own.
COLOURS = ("#004488", "#bb5566", "#3d9bd1", "#8c8c28")
_LINES, MARKERS = ("-", "--", "-.", ":"), ("o", "s", "^", "D")
GREY, GRID = "#4a4a4a", "#e6e6e6"
_HANDLE, _MOST_COLUMNS = 2.8, 4
_BELOW = 4.1  # the labels of the horizontal axis and its name, in letters
_LINE, _FEW_NAMES = 1.6, 10
_ROOM = 1.1  # a layout leaves the axes more than their place before it
_PLAIN = {"frameon": False, "columnspacing": 1.4, "labelspacing": 0.3, "borderpad": 0.3}
# On a page: small, so that text is of the size of the page's on a phone, and beside another figure on paper.
ON_PAGE = (4.6, 3.1)
# Text stays text, so that it can be searched and read aloud; identifiers are the same in every run.
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "jaxcert", "font.size": 9, "font.family": "sans-serif"}
# The page's style sheet gives them other values on a dark screen.
_VARIABLES = {"#000000": "currentColor", GRID: "var(--grid)", GREY: "var(--soft)"} | {
    colour: f"var(--curve-{i + 1})" for i, colour in enumerate(COLOURS[:2])
}


def styles() -> Iterator[dict[str, Any]]:
    """Colour and line of one curve after another: where colours repeat, they come with other lines."""
    for turn in itertools.count():
        for i, colour in enumerate(COLOURS):
            yield {"color": colour, "linestyle": _LINES[(i + turn) % len(_LINES)], "linewidth": 1.4}


def as_point(style: dict[str, Any]) -> dict[str, Any]:
    """The style of a curve without any width: a marker of its own, since a line of no length is not seen."""
    return {**style, "marker": MARKERS[_LINES.index(style["linestyle"])], "markersize": 4}


@contextlib.contextmanager
def drawing(ax: Any) -> Iterator[Any]:
    """The axes given, with a layout that has room for titles and legends; or those of a new figure, for one column."""
    if ax is not None:
        figure = ax.figure.figure  # the whole one, if the axes are in a part
        if figure.get_layout_engine() is None:
            figure.set_layout_engine("constrained")
        with any_letters():
            yield ax
        return
    pyplot = import_extra("matplotlib.pyplot", "plot")
    with pyplot.rc_context(_TEXT), any_letters():
        figure, ax = pyplot.subplots(figsize=SIZE, dpi=200, layout="constrained")
        yield ax
        figure.set_size_inches(SIZE[0], SIZE[1] + more_lines(ax))


@contextlib.contextmanager
def any_letters() -> Iterator[None]:
    """Ignore warnings about letters that the font lacks, such as names in other scripts, which are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from", category=UserWarning)
        yield


def dress(ax: Any, *, title: str, xlabel: str, ylabel: str) -> None:
    """Names, as they are written, a faint grid, and a legend, if there is anything to explain."""
    ax.set(title=_wrapped(title, ax, ax.title.get_fontsize()), xlabel=xlabel, ylabel=ylabel)
    as_written(ax.title)
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    _place_legend(ax)


def _place_legend(ax: Any) -> None:
    """A legend of all that has a label: below the axes, where it covers no data, in as many columns as fit there."""
    (handles, labels), size = ax.get_legend_handles_labels(), ax.xaxis.label.get_fontsize()
    texts = [_wrapped(label, ax, size, taken=(_HANDLE + 1) * size) for label in labels]
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": _BELOW}
    for columns in range(min(len(labels), _MOST_COLUMNS), 0, -1):
        legend = ax.legend(handles, texts, ncols=columns, handlelength=_HANDLE, **below, **_PLAIN)
        as_written(*legend.get_texts())
        if legend.get_window_extent().width <= _ROOM * ax.bbox.width:
            return


def more_lines(ax: Any) -> float:
    """The height of title and legend beyond one line each, and of more names than a few beside the axes, in inches."""
    texts = [ax.title, *([] if ax.get_legend() is None else [ax.get_legend()])]
    heights = [text.get_window_extent().height / ax.figure.dpi for text in texts]
    of_names = max(len(ax.get_yticks()) - _FEW_NAMES, 0) * _LINE * _TEXT["font.size"] / 72
    return of_names + sum(max(height - _LINE * _TEXT["font.size"] / 72, 0.0) for height in heights)


def _wrapped(text: str, ax: Any, size: float, taken: float = 0.0) -> str:
    """The text in lines that fit the axes; a figure that is cut off could be read as another one."""
    # About 0.56 em for each character.
    fitting = int((ax.bbox.width / ax.figure.dpi * 72 - taken) / (0.56 * size))
    return textwrap.fill(text, max(fitting, 8), break_long_words=True)


def as_written(*texts: Any) -> None:
    """Names of files and policies are no formulas, whatever signs they have."""
    for text in texts:
        text.set_parse_math(False)


def save_figure(path: str | PathLike[str], figure: Any, *, replace: bool = True) -> None:
    """Write a figure, completely or not at all; the suffix of `path` gives the format.

    Args:
        path: the file.
        figure: a matplotlib figure, or axes, for the figure that they belong to.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
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
    with any_letters():
        getattr(figure, "figure", figure).savefig(buffer, format=path.suffix[1:].lower())
    write_whole(path, buffer.getvalue(), replace=replace)


def check_figure_path(path: str | PathLike[str]) -> Path:
    """The path, if a figure can be written there; checked before a long computation."""
    bases = import_extra("matplotlib.backend_bases", "plot")
    check_suffix(path, [f".{name}" for name in bases.FigureCanvasBase.get_supported_filetypes()])
    return check_output(path)


def svg_of(draw: Callable[..., Any], *what: Any, **how: Any) -> str:
    """What is drawn in axes that pyplot does not know, as an element in the page's colours; matplotlib's prologue and
    metadata name other servers.
    """
    buffer, nothing = io.StringIO(), {"Date": None, "Creator": None, "Format": None, "Type": None}
    with import_extra("matplotlib", "plot").rc_context(_SVG), any_letters():
        figure = import_extra("matplotlib.figure", "plot").Figure(figsize=ON_PAGE, layout="constrained")
        draw(figure.add_subplot(), *what, **how)
        figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    element = buffer.getvalue()
    element = re.sub(r"<metadata>.*?</metadata>", "", element[element.index("<svg") :], flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*">', "<g>", element)  # not useful
    for colour, variable in _VARIABLES.items():
        element = element.replace(colour, variable)
    return element
