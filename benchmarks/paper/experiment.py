"""What an experiment is: a name, what of the paper it shows, and a function to what it finds."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Findings(NamedTuple):
    """What an experiment found.

    Attributes:
        lines: conclusions, and tables in Markdown.
        columns: names of the columns of the rows; none without rows.
        rows: all figures.
        figure: of Matplotlib, or None.
    """

    lines: Iterable[str]
    columns: Sequence[str] = ()
    rows: Iterable[Sequence[Any]] = ()
    figure: Any = None


class Experiment(NamedTuple):
    """One part of the paper.

    Attributes:
        name: on the command line, and of its files.
        shows: what of the paper it is.
        run: whether at the full size -> ``Findings``.
        needs: a package outside the extra dev, without which it is skipped; and the extra that has it.
    """

    name: str
    shows: str
    run: Callable[[bool], Findings]
    needs: tuple[str, str] | None = None


def write(findings: Findings, folder: Path, name: str) -> list[Path]:
    """The files of an experiment: lines as text, rows as CSV, the figure as PNG; those that there are."""
    text, table, picture = (folder / f"{name}.{suffix}" for suffix in ("txt", "csv", "png"))
    written = [text]
    text.write_text("".join(f"{line}\n" for line in findings.lines))
    if findings.columns:
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(findings.columns)
            writer.writerows([_cell(value) for value in row] for row in findings.rows)
        written.append(table)
    if findings.figure is not None:
        findings.figure.savefig(picture, dpi=110)
        written.append(picture)
    return written


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table, a line per row; floats with three decimals."""
    lines = [columns, ["---"] * len(columns), *([_shown(value) for value in row] for row in rows)]
    return [f"| {' | '.join(map(str, line))} |" for line in lines]


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
