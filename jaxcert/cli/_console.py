"""Output to the terminal: lines, tables of certificates, progress. Every figure is rounded to the safe side."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import of_two
from jaxcert.cli._reading import told
from jaxcert.cli._typed import as_given
from jaxcert.questions import QUESTIONS
from jaxcert.report._in_words import level_words
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many, span

_WIDTH = 79


def say(*lines: str) -> None:
    """Print lines and tables as the result."""
    for line in lines:
        print(line)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Give a function that shows the current step on stderr, if that is a terminal, and clear it at the end."""

    def show(step: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{step[:_WIDTH]:{_WIDTH}}", end="\r", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        show("")


def described(named: Any, data: Sequence[ReturnsFile], *more: str) -> list[str]:
    """Lines about files: their tasks and rollouts, and the columns that were read."""
    rollouts = "; ".join(dict.fromkeys(_rollouts(each.num_rollouts) for each in data))
    first = [f"{named}: {how_many(len(data[0].tasks), 'task')}", rollouts, *more]
    return [", ".join(filter(None, first)), *told(*data)]


def heading(data: Sequence[ReturnsFile], support: tuple[float, float] | None, certificates: Mapping[str, Any]) -> str:
    """The data and the settings, of one policy or two."""
    certificate, *_ = certificates.values()
    named = " against ".join(each._name for each in data[:2]) if of_two(certificate) else data[0].path
    lies = f"support [{', '.join(map(as_given, support))}]" if support else ""
    delta = f"delta {ceil_figures(float(certificate.delta))}"
    return "\n".join([*described(named, data, lies), ", ".join([*settings_words(certificates), delta])])


def settings_words(certificates: Mapping[str, Any]) -> list[str]:
    """Bound, method and beta, which may depend on the fixed numbers."""
    certificate, *_ = certificates.values()
    each = {name: QUESTIONS[name].each for name in certificates}
    betas = {each[name]: level_words(getattr(one, "beta", None)) for name, one in certificates.items()}
    same = len(set(betas.values())) == 1
    beta = ", ".join(dict.fromkeys(value if same else f"{value} ({fixed})" for fixed, value in betas.items()))
    named = {name: getattr(certificate, name, "") for name in ("bound", "method")} | {"beta": beta}
    return [f"{name} {value}" for name, value in named.items() if value]


def _rollouts(counts: np.ndarray) -> str:
    """The number of rollouts of each task, [n]."""
    return f"{how_many(span(counts), 'rollout')}{f', {counts.sum()} in all' if np.ptp(counts) else ' each'}"


def table(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns of text by their heading, aligned to the right."""
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    rows = [[*columns], *zip(*columns.values(), strict=True)]
    heading, *lines = ["   ".join(map(str.rjust, row, widths)) for row in rows]
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    rule = "-" if rule.encode(sys.stdout.encoding or "utf-8", "replace") == b"?" else rule
    return "\n".join([heading, rule * len(heading), *lines])
