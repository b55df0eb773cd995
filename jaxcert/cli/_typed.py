"""The command as it was typed, and commands to be typed."""

import contextvars
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

_TYPED: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("typed", default=())


def remember(arguments: Sequence[str]) -> None:
    """Keep the arguments of the command that runs."""
    _TYPED.set(tuple(arguments))


def refuse_both(*options: str) -> None:
    """Raise ValueError if several of these options were typed, since only the last would count."""
    given = typed_among(options)
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected one of them")


def typed_among(options: Sequence[str]) -> list[str]:
    """The typed ones of these options."""
    names = {word.partition("=")[0] for word in _TYPED.get()}
    return [option for option in options if option in names]


def as_given(value: float) -> str:
    """A number chosen by the user, with the figures that identify the float."""
    return repr(float(value)).removesuffix(".0")


def in_shell(command: str, files: Iterable[str | Path], options: Iterable[str]) -> str:
    """A command with these files and options, to be typed in a shell."""
    return shlex.join(["jaxcert", command, *map(no_option, files), *options])


def no_option(file: str | Path) -> str:
    """The name of a file, which is no option whatever it begins with."""
    return f"./{file}" if str(file).startswith("-") else str(file)
