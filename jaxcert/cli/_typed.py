"""The command as it was typed, and commands for messages that end with one that works."""

import contextvars
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_TYPED: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("typed", default=())


def remember(arguments: Sequence[str]) -> None:
    """Keep the arguments of the command that runs."""
    _TYPED.set(tuple(arguments))


def typed_with(added: Mapping[str, Sequence[str]], *, without: Sequence[str] = ()) -> str:
    """The command that runs with these options in place of its own of the same names, to be typed in a shell.

    ``without``: options with one value each that are left out, however often and in whichever way they were typed.
    """
    words = [*_TYPED.get()]
    for option in without:
        words = _left_out(words, option)
    for option, values in added.items():
        if option in words:
            place = words.index(option)
            del words[place : place + 1 + len(values)]
        words += [option, *values]
    return shlex.join(["jaxcert", *words])


def _left_out(words: list[str], option: str) -> list[str]:
    is_value = [False, *(word == option for word in words)]
    joined = f"{option}="
    return [
        word
        for word, of_option in zip(words, is_value, strict=False)
        if not (of_option or word == option or word.startswith(joined))
    ]


def refuse_both(*options: str) -> None:
    """Raise ValueError if several of these options were typed, of which the last would count."""
    given = [option for option in options if option in _TYPED.get()]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected one of them")


def in_shell(command: str, files: Iterable[str | Path], options: Iterable[str]) -> str:
    """A command with these files and options, to be typed in a shell."""
    return shlex.join(["jaxcert", command, *map(no_option, files), *options])


def no_option(file: str | Path) -> str:
    """The name of a file, which is no option whatever it begins with."""
    return f"./{file}" if str(file).startswith("-") else str(file)
