"""Options that several commands have: columns, numbers given in lists and ranges, plots."""

import itertools
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert._extras import import_extra
from jaxcert.certificates._arguments import AUTO
from jaxcert.report import save_figure

_SEVERAL = "repeatable; also 1,2,5 and 1:9:2"
# A range beyond this is a slip of the pen, not a wish.
_MOST = 1_000_000


def several(metavar: str, text: str, *flag: str) -> Any:
    """An option for several numbers, of type ``list[Any] | None``; `text` is its help, without a full stop."""
    return typer.Option(*flag, metavar=metavar, help=f"{text} ({_SEVERAL}).", parser=_numbers, callback=_together)


def _numbers(text: str) -> list[float]:
    """The numbers of a value: one, a list ``1,2,5``, or a range ``first:last:step``.

    A range has its last number if the steps meet it, and is computed in decimals, so that 0.1:0.9:0.1 has nine numbers.
    """
    parts = text.split(",")
    return [*itertools.chain.from_iterable(_range(part) if ":" in part else [float(_decimal(part))] for part in parts)]


def _together(values: list[list[float]] | None) -> list[float] | None:
    return [*itertools.chain.from_iterable(values)] if values else None


def _range(text: str) -> list[float]:
    ends = text.split(":")
    if len(ends) != 3:
        raise typer.BadParameter(f"{text!r} is not a range first:last:step, such as 100:900:50.")
    first, last, step = map(_decimal, ends)
    finite = first.is_finite() and last.is_finite() and step.is_finite()
    if not (finite and step > 0 and first <= last and (last - first) / step < _MOST):
        raise typer.BadParameter(f"{text!r} is not a range of at most {_MOST:,} numbers from the first up to the last.")
    return [float(first + i * step) for i in range(int((last - first) / step) + 1)]


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number.") from None
    return number


Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]
Witness = Annotated[
    bool,
    typer.Option(
        "--witness",
        help="Write into the certificate file what proves it to anyone who has the returns, in exact arithmetic "
        "(`jaxcert verify --exact`).",
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a file in which some tasks have fewer rollouts than others or that may be cut short (a task "
        "without any row cannot be noticed), and in `certify` data that look like a mistake.",
    ),
]
Stochastic = Annotated[
    bool, typer.Option("--stochastic", help="Sample actions instead of taking the mode of their distribution.")
]
CHECKPOINT = (
    "A folder of `jaxcert train` (its last checkpoint), one checkpoint of it, or a policy file (.npz); or a policy "
    "shipped with the package: "
)


def level(text: str) -> float | str:
    """The number, or the word for a choice from the data."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, or {AUTO!r}.") from None


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write a page to read, print and send (.html): what is certified, settings and figures. It has none of "
        "the returns and no labels of tasks.",
    ),
]
TasksInReport = Annotated[
    bool, typer.Option("--tasks-in-report", help="Name single tasks on the page by their labels in the file.")
]
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
