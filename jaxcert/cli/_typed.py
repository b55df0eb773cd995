"""The command as it was typed, and corrected commands for error messages."""

import contextvars
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_TYPED: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("typed", default=())


def remember(arguments: Sequence[str]) -> None:
    """Keep the arguments of the command that runs."""
    _TYPED.set(tuple(arguments))


def typed_with(added: Mapping[str, Sequence[str]], *, without: Sequence[str] = ()) -> str:
    """The command that runs, with these options in place of its own, ``without`` others of one value, for a shell."""
    gone = dict.fromkeys(without, 1) | {option: len(values) for option, values in added.items()}
    words, num_values = [], 0
    for word in _TYPED.get():
        option, joined, _ = word.partition("=")
        if num_values:
            num_values -= 1
        elif option in gone:
            num_values = 0 if joined else gone[option]
        else:
            words.append(word)
    return shlex.join(["jaxcert", *words, *(each for option, values in added.items() for each in (option, *values))])


def refuse_both(*options: str) -> None:
    """Raise ValueError if several of these options were typed, since only the last would count."""
    given = typed_among(options)
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected one of them")


def typed_among(options: Sequence[str]) -> list[str]:
    """The typed ones of these options."""
    names = {word.partition("=")[0] for word in _TYPED.get()}
    return [option for option in options if option in names]


def in_shell(command: str, files: Iterable[str | Path], options: Iterable[str]) -> str:
    """A command with these files and options, to be typed in a shell."""
    return shlex.join(["jaxcert", command, *map(no_option, files), *options])


def no_option(file: str | Path) -> str:
    """The name of a file, which is no option whatever it begins with."""
    return f"./{file}" if str(file).startswith("-") else str(file)


# Common ways to mistype options: a support with a comma, a list without a number, a confidence level for delta.
_PAIR, _CONFIDENCE, _LIST = "--support", "--confidence", "--suite"


def as_read(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``--support 0,1`` as ``--support 0 1``, and ``--suite`` of a plan alone as ``--suite 0``."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    command = next((each for each in arguments if not each.startswith("-")), "")
    return [*_usual(arguments[:end], is_plan=command == "plan"), *arguments[end:]]


def _usual(arguments: Sequence[str], *, is_plan: bool) -> Iterator[str]:
    before = ""
    for each, after in zip(arguments, [*arguments, ""][1:], strict=True):
        joined = each.removeprefix(f"{_PAIR}=")
        if joined.count(",") == 1 and (before == _PAIR or joined != each):
            yield from [_PAIR] * (joined != each)
            yield from map(str.strip, joined.split(","))
        else:
            yield each
        if is_plan and each == _LIST and not after.lstrip("-").isdecimal():
            yield "0"
        before = each


def usage_told(error: Any) -> str:
    """The message of a usage error; for a confidence level, it names the option --delta if the command has it."""
    takes_delta = error.ctx is not None and any(each.name == "delta" for each in error.ctx.command.params)
    if getattr(error, "option_name", None) != _CONFIDENCE or not takes_delta:
        return error.format_message()
    return f"{_CONFIDENCE} is no option; expected the probability of failure, --delta 0.05 for a confidence of 0.95"
