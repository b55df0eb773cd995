"""Output to the terminal: lines, tables of certificates, progress. Every figure is rounded to the safe side."""

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import of_two
from jaxcert.cli._reading import told
from jaxcert.questions import QUESTIONS
from jaxcert.report._in_words import level_words
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many, span

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


@contextlib.contextmanager
def progress() -> Iterator[Any]:
    """Give a function that shows the current step on stderr, if that is a terminal."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    with console.status("starting") if console.is_terminal else contextlib.nullcontext() as status:
        yield status.update if status else lambda _: None


_WIDEST = 10_000


def heading(data: Sequence[ReturnsFile], support: tuple[float, float] | None, certificates: Mapping[str, Any]) -> str:
    """The data and the settings, of one policy or two."""
    certificate, *_ = certificates.values()
    named = " against ".join(each._name for each in data[:2]) if of_two(certificate) else data[0].path
    rollouts = "; ".join(dict.fromkeys(rollouts_words(each.num_rollouts) for each in data))
    lies = f"support [{', '.join(map(as_given, support))}]" if support else ""
    first = ", ".join(filter(None, [f"{named}: {how_many(certificate.num_tasks, 'task')}", rollouts, lies]))
    delta = f"delta {ceil_figures(float(certificate.delta))}"
    return "\n".join([first, *told(*data), ", ".join([*settings_words(certificates), delta])])


def settings_words(certificates: Mapping[str, Any]) -> list[str]:
    """Bound, method and beta, which may depend on the fixed numbers."""
    certificate, *_ = certificates.values()
    each = {name: QUESTIONS[name].each for name in certificates}
    betas = {each[name]: level_words(getattr(one, "beta", None)) for name, one in certificates.items()}
    same = len(set(betas.values())) == 1
    beta = ", ".join(dict.fromkeys(value if same else f"{value} ({fixed})" for fixed, value in betas.items()))
    named = {name: getattr(certificate, name, "") for name in ("bound", "method")} | {"beta": beta}
    return [f"{name} {value}" for name, value in named.items() if value]


def rollouts_words(counts: np.ndarray) -> str:
    """The number of rollouts of each task, [n]."""
    return f"{how_many(span(counts), 'rollout')}{f', {counts.sum()} in all' if np.ptp(counts) else ' each'}"


def as_given(value: float) -> str:
    """A number chosen by the user, with the figures that identify the float."""
    return repr(float(value)).removesuffix(".0")


def plain_table(columns: dict[str, list[str]]) -> Table:
    """Columns of text by their heading, aligned to the right; a narrow terminal breaks lines, and cuts no figure."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    table.width = Console(width=_WIDEST).measure(table).maximum
    return table
