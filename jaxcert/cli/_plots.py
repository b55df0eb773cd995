"""Plots of the command line: their options, and the files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert._extras import import_extra
from jaxcert.report import save_figure

Title = Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the plot, before the confidence.")]
Size = Annotated[
    tuple[float, float] | None,
    typer.Option("--plot-size", metavar="W H", help="Width and height of the plot in inches; by default one column."),
]


def check_size(size: tuple[float, float] | None) -> None:
    """Raise for a size that is no size."""
    if size and not (min(size) >= 0.5 and max(size) <= 100):
        raise ValueError(
            f"--plot-size is {size[0]:g} {size[1]:g}, expected a width and a height from 0.5 to 100 inches"
        )


def write_plot(file: Path, ax: Any, *, replace: bool = True) -> None:
    """Write the figure of these axes, and close it."""
    try:
        save_figure(file, ax, replace=replace)
    finally:
        import_extra("matplotlib.pyplot", "plot").close(ax.figure)
