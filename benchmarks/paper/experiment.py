"""What an experiment is: a name, what of the paper it shows, and a function to what it finds."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._common import write_csv


class Findings(NamedTuple):
    """Conclusions and tables in Markdown; all figures as rows, with the names of their columns; a picture, or None."""

    lines: Iterable[str]
    columns: Sequence[str] = ()
    rows: Iterable[Sequence[Any]] = ()
    figure: Any = None


class Experiment(NamedTuple):
    """One part of the paper.

    Attributes:
        name: on the command line, and of its files.
        shows: what of the paper it is.
        run: whether at the full size -> ``Findings``.
    """

    name: str
    shows: str
    run: Callable[[bool], Findings]


def write(findings: Findings, folder: Path, name: str) -> list[Path]:
    """The files of an experiment: lines as text, rows as CSV, the figure as PNG; those that there are."""
    text, table, picture = (folder / f"{name}.{suffix}" for suffix in ("txt", "csv", "png"))
    text.write_text("".join(f"{line}\n" for line in findings.lines))
    if findings.columns:
        write_csv(table, findings.columns, findings.rows)
    if findings.figure is not None:
        findings.figure.savefig(picture, dpi=110)
    return [text, *([table] if findings.columns else []), *([picture] if findings.figure is not None else [])]


def grid(
    panels: Sequence[Any],
    draw: Callable[[Any, Any], None],
    columns: int,
    size: tuple[float, float],
    label: str,
    *,
    of_legend: int = 0,
    ncols: int = 4,
    **sharing: Any,
) -> Any:
    """A figure with a panel each, so many in a row, and a legend of one of them below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(-(-len(panels) // columns), columns, squeeze=False, **sharing)
    for place, panel in zip(axes.ravel(), panels, strict=False):
        draw(place, panel)
        place.grid(alpha=0.3)
    for place in axes.ravel()[len(panels) :]:
        place.set_axis_off()
    for place in axes[:, 0]:
        place.set_ylabel(label)
    handles = axes.ravel()[of_legend].get_legend_handles_labels()
    figure.legend(*handles, fontsize=8, loc="outside lower center", ncols=ncols)
    return figure
