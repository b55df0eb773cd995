"""Options that take several numbers: repeated, in a list, or as a range."""

import itertools
from decimal import Decimal, InvalidOperation
from typing import Any

import typer

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
