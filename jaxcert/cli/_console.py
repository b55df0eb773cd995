"""Output to stdout and to stderr."""

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from jaxcert.cli import _cache

# Wide enough for every table, since a pipe has no width and cells must not be cut.
_PIPE_WIDTH = 400


def output() -> Console:
    """The console of the result: plain and uncut if stdout is not a terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may contain any character
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)


def errors() -> Console:
    """The console of everything else, on stderr."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """Give a function that shows the current step on stderr, if that is a terminal, unless `quiet`."""
    console = errors()
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("starting") as status:
        yield status.update


@contextlib.contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Show each warning of the library as one line, once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for line in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        if not _cache.emptied_after(line):
            print(f"warning: {line}", file=sys.stderr)
