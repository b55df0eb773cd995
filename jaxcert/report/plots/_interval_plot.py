"""A plot of certified lower ends, or intervals, by name: of policies, of groups of rows, of the tasks of a list."""

import itertools
import math
import string
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._question import MEAN_ROWS, Question
from jaxcert.report._in_words import column_texts, heading
from jaxcert.report.plots._axes import COLOURS, GREY, MARKERS, ON_PAGE, as_written, drawing, dress, more_lines
from jaxcert.returns._labels import quoted
from jaxcert.tables import Returns
from jaxcert.tables._aligned import in_one_order

# The share of the axes that names may take; if there are too many names, this many are drawn from either end.
_ROOM, _LONG, _MOST_NAMES = 0.55, 200, 200
_OBSERVED, _CERTIFIED, _SHARED = "observed", "certified", "same letter: not told apart"


class Interval(NamedTuple):
    """The data of one name.

    Attributes:
        low: the certified lower end; None where nothing is certified.
        observed: the average in the data, which certifies nothing; None if it is not known.
        high: the certified upper end, if there is one.
        kind: what is certified in words, for the legend, where it is no number.
        letters: of the groups that it belongs to; names with a letter in common are not told apart.

    Example:
        >>> Interval(0.62, 0.7).letters
        ''
    """

    low: float | None = None
    observed: float | None = None
    high: float | None = None
    kind: str = ""
    letters: str = ""


def plot_intervals(
    rows: Mapping[str, Interval], *, at: float | None = None, title: str = "", xlabel: str = "", ax: Any = None
) -> Any:
    """Draw the certified lower end and the observed average of each name, the largest lower end first.

    Args:
        rows: by their names; of more than 200, the first and the last 100.
        at: where to draw a vertical line, such as the threshold that was asked for.
        title: of the axes.
        xlabel: what the numbers are.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, as high as the names
            need (`save_figure` writes it).

    Raises:
        ValueError: no name.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jaxcert
        >>> found = {}
        >>> for name in ("cheetah", "walker"):
        ...     returns = jaxcert.sample_returns(name)
        ...     certified = jaxcert.certify_mean(returns, support=(0, 1000), delta=0.01)
        ...     found[name] = Interval(float(certified.mean), float(returns.mean()))
        >>> [label.get_text() for label in plot_intervals(found, xlabel="mean return").get_yticklabels()]
        ['walker', 'cheetah']
    """
    if not rows:
        raise ValueError("rows is empty, expected at least one name to draw")
    names = sorted(rows, key=lambda name: [_number(x, -math.inf) for x in rows[name][:2]], reverse=True)
    left_out = len(names) - _MOST_NAMES
    if left_out > 0:
        names = [*names[: _MOST_NAMES // 2], *names[-_MOST_NAMES // 2 :]]
    with drawing(ax) as ax:
        _draw(ax, [rows[name] for name in names])
        if at is not None:
            ax.axvline(at, color=GREY, linewidth=0.9, linestyle="--")
        _name_rows(ax, names)
        dress(ax, title=title, xlabel=xlabel, ylabel=f"{left_out} names between left out" if left_out > 0 else "")
    return ax


def draw_intervals(ax: Any, rows: Mapping[str, Interval], **axis: Any) -> None:
    """The certificate of each name, on a page."""
    plot_intervals(rows, ax=ax, **axis)
    ax.figure.set_figheight(ON_PAGE[1] + more_lines(ax))


def _draw(ax: Any, rows: Sequence[Interval]) -> None:
    """A dot for each average, in a style for each kind, and a line from each lower end to it, or to the upper end."""
    places = range(len(rows))
    low, observed, high = zip(*((_number(x) for x in (row.low, row.observed, row.high)) for row in rows), strict=True)
    kinds = sorted({row.kind for row in rows if row.observed is not None})
    for kind, colour, marker in zip(kinds, COLOURS, MARKERS, strict=False):
        of_kind = [x if row.kind == kind else math.nan for x, row in zip(observed, rows, strict=True)]
        ax.plot(of_kind, places, marker, color=colour, markersize=4, label=kind or _OBSERVED)
    ends = [b if math.isnan(c) else c for b, c in zip(observed, high, strict=True)]
    if not all(map(math.isnan, low)):
        ax.hlines(places, low, ends, color=COLOURS[0], linewidth=1.2)
        both = [*low, *high], [*places, *places]
        ax.plot(*both, "|", color=COLOURS[0], markersize=7, markeredgewidth=1.6, label=_CERTIFIED)
    if any(row.letters for row in rows):
        ax.plot([], [], " ", label=_SHARED)
    for place, row in zip(places, rows, strict=True):
        ax.text(1.02, place, row.letters, transform=ax.get_yaxis_transform(), va="center", fontsize="small")


def _number(value: float | None, otherwise: float = math.nan) -> float:
    return otherwise if value is None or not math.isfinite(value) else value


def _name_rows(ax: Any, names: Sequence[str]) -> None:
    """Names as they can be printed: in one line, and wide ones without their middle, which names of runs share."""
    ax.set_ylim(len(names) - 0.5, -0.5)
    short = [name if len(name) < _LONG else name[: _LONG // 2] + name[-_LONG // 2 :] for name in names]
    texts = ["".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in name) for name in short]
    ax.set_yticks(range(len(names)), texts)
    as_written(*ax.get_yticklabels())
    wide = [label.get_window_extent().width / (_ROOM * ax.bbox.width) for label in ax.get_yticklabels()]
    ax.set_yticks(range(len(names)), [_cut(text, share) for text, share in zip(texts, wide, strict=True)])
    as_written(*ax.get_yticklabels())
    ax.figure.figure.draw_without_rendering()  # so that title and legend find the width that is left


def _cut(text: str, share: float) -> str:
    """The text without its middle, if it is longer than its room by that factor."""
    half = int(len(text) / share / 2) if share > 1 else len(text)
    return text if 2 * half >= len(text) else f"{text[:half]}…{text[-half:] if half else ''}"


def shared_letters(apart: np.ndarray) -> list[str]:
    """A compact letter display: two have a letter in common if and only if they are not told apart, bool[p, p]."""
    sets: list[list[int]] = []
    for i, j in itertools.combinations_with_replacement(range(len(apart)), 2):
        if (i == j or not apart[i, j]) and not any(i in each and j in each for each in sets):
            sets.append([i, j])
            for k in range(len(apart)):
                if not any(apart[k, of] for of in sets[-1] if of != k):
                    sets[-1].append(k)
    names = [f"{string.ascii_letters[k % 52]}{k // 52 or ''}" for k in range(len(sets))]
    return ["".join(name for name, each in zip(names, sets, strict=True) if i in each) for i in range(len(apart))]


# --- rows by name ----------------------------------------------------------------------------------------------------

# A mean that was rounded down to single precision reaches the threshold that it was.
_ROUNDING = 1e-6


def observed_means(data: Sequence[Returns]) -> np.ndarray | None:
    """The mean return of each task, or the difference of two policies, [n]; None of a summary."""
    if not all(isinstance(each.returns, np.ndarray) for each in data):
        return None
    first, *others = in_one_order(*data)
    return first.means - others[0].means if others else first.means


def intervals_of(
    certificate: Any, question: Question, means: np.ndarray | None, name: str = "", policies: Sequence[str] = ()
) -> dict[str, Interval]:
    """A row for each task that an answer names, or for what it certifies as a whole, and for each of its numbers.

    ``means``: observed, [n], if known; ``name``: of the group; ``policies``: what two are called that are compared.
    """
    in_a_row = getattr(certificate, "num_episodes", 1)
    means = means if means is None or in_a_row == 1 else means**in_a_row
    places = column_texts(certificate, question, question.each) if question.each else [""]
    ends = [f" at {place}" if len(places) > 1 else "" for place in places]
    if question.takes("tasks"):
        of, good, bad = f"{name}: " if name else "", np.asarray(certificate.good), np.asarray(certificate.bad)
        kinds = np.where(good, "certified", np.where(bad, "surely below", "not certified")).tolist()
        seen = [None] * len(certificate.tasks) if means is None else means.tolist()
        each = zip(certificate.tasks, seen, kinds, strict=True)
        rows = [(task, value, zip(ends, row, strict=True)) for task, value, row in each]
        return {f"{of}{task}{end}": Interval(None, value, kind=kind) for task, value, row in rows for end, kind in row}
    columns = question.rows.columns
    upper = next((columns[column] for column, least in question.rows.claims.items() if least is max), None)
    low = np.atleast_1d(getattr(certificate, columns[question.rows.certified])).tolist()
    high = [None] * len(low) if upper is None else np.atleast_1d(getattr(certificate, upper)).tolist()
    seen = _observed(certificate, question, means)
    whole = name or " minus ".join(map(quoted, policies)) or "all tasks"
    three = zip(low, seen, high, strict=True)
    return {f"{whole}{end}": Interval(*each) for end, each in zip(ends, three, strict=True)}


def axis_of(certificate: Any, question: Question) -> dict[str, Any]:
    """The quantity of such a plot, and the threshold if the numbers are compared with one."""
    if not question.takes("tasks"):
        what = heading(question.rows.certified, question, certificate).removeprefix("certified ")
        places = column_texts(certificate, question, question.each) if question.each else []
        return {"xlabel": f"{what} at {question.each} {places[0]}" if len(places) == 1 else what}
    at = certificate.thresholds.tolist()
    return {"xlabel": f"observed {certificate.quantity}", "at": at[0] if len(at) == 1 else None}


def _observed(certificate: Any, question: Question, means: np.ndarray | None) -> list[float | None]:
    """The mean, or the number or share of the tasks whose mean reaches each threshold, as the answer counts them."""
    columns, count = question.rows.columns, certificate.status.size
    if means is not None and question.rows is MEAN_ROWS:
        return [float(means.mean())]
    counts = question.rows.certified.startswith("num_")
    if means is None or columns.get(question.each or "") != "thresholds" or not (counts or question.curve is not None):
        return [None] * count
    levels = np.asarray(certificate.thresholds, np.float64)
    reached = (means[:, None] >= levels - _ROUNDING * np.maximum(np.abs(levels), 1)).sum(axis=0)
    return (reached if counts else reached / len(means)).tolist()
