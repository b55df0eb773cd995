"""Output to the terminal."""

import contextlib
import functools
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from jaxcert.cli._program_cache import emptied_after

# Wide enough for every table, since a pipe has no width and cells must not be cut.
_PIPE_WIDTH = 400


def output() -> Console:
    """The console of the result: lines are never cut; tables only on a terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may contain any character
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, soft_wrap=True, markup=False, highlight=False, emoji=False)


def say(*parts: Any) -> None:
    """Print lines and tables as the result."""
    for part in parts:
        output().print(part)


def show_table(table: Any) -> None:
    """Print a table between empty lines; on a narrow terminal its lines break, and no figure is cut off."""
    output().print("", table, "", sep="\n", soft_wrap=False, crop=False)


def _errors() -> Console:
    """The console of everything else, on stderr."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """Give a function that shows the current step on stderr, if that is a terminal, unless `quiet`."""
    console = _errors()
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("starting") as status:
        yield status.update


@contextlib.contextmanager
def bar(description: str, *columns: ProgressColumn, quiet: bool) -> Iterator[Callable[..., None]]:
    """Give a function that updates a progress bar on stderr, if that is a terminal, unless `quiet`."""
    console = _errors()
    columns = (TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as shown:
        yield functools.partial(shown.update, shown.add_task(description, total=None))


@contextlib.contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Show each warning of the library as one line, once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for line in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        if not emptied_after(line):
            print(f"warning: {line}", file=sys.stderr)
