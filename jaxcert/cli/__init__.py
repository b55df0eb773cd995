"""The command line: the command as it was typed, and errors in words."""

import contextvars
import gc
import os
import sys
from collections.abc import Sequence

from jaxcert._extras import import_extra

__all__ = ["main", "run"]

_INTERRUPTED = 130
_TYPED: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("typed", default=())


def main() -> int:
    """Run the process's own arguments; the entry point of the command `jaxcert`."""
    # A process that ends soon need not look for cycles: while modules are imported that takes a fifth of the time.
    gc.set_threshold(500_000)
    status = run(sys.argv[1:])
    if status == _INTERRUPTED:
        # After an interrupted compilation XLA crashes at the interpreter's shutdown, so skip it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def run(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments, without the program's name, and return its exit status.

    0: done. 1: a package of an extra is missing. 2: bad input or usage. 130: interrupted. Every failure is one line on
    stderr, and no file is left half written.

    Example:
        >>> run(["certify", "returns.npz"])
        2
    """
    try:
        import_extra("typer", "cli")
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    from jaxcert.cli._app import execute

    _TYPED.set(tuple(arguments))
    return execute(arguments)


def refuse_both(*options: str) -> None:
    """Raise ValueError if several of these options were typed, since only the last would count."""
    given = typed_among(options)
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected one of them")


def typed_among(options: Sequence[str]) -> list[str]:
    """The typed ones of these options."""
    names = {word.partition("=")[0] for word in _TYPED.get()}
    return [option for option in options if option in names]
