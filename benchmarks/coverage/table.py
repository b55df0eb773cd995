"""The results as a file, and a summary of them in Markdown."""

import csv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.coverage.cell import Result

COLUMNS = ("kind", "case", "repetitions", "failures", "rate", "level", "p-value", "sound")


def write(results: Iterable[Result], path: Path) -> None:
    """One row per cell."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for each in results:
            figures = (f"{value:.6g}" for value in (each.rate, each.level, each.p_value))
            writer.writerow([each.kind, each.case, each.repetitions, each.failures, *figures, each.sound])


def read(path: Path) -> list[Result]:
    """What was written."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Result(
            row["kind"],
            row["case"],
            int(row["repetitions"]),
            int(row["failures"]),
            float(row["level"]),
            row["sound"] == "True",
        )
        for row in rows
    ]


def summary(results: Iterable[Result]) -> list[str]:
    """A line per kind, with the cell that failed most often for its level."""
    kinds: dict[str, list[Result]] = {}
    for each in results:
        kinds.setdefault(each.kind, []).append(each)
    lines = ["| | cells | most failures in | rate | allowed | p-value |", "|---|---:|---|---:|---:|---:|"]
    for kind, group in kinds.items():
        worst = max(group, key=lambda each: each.rate / each.level)
        figures = f"{worst.rate:.4f} | {worst.level:.3g} | {worst.p_value:.2g}"
        name = kind if worst.sound else f"*{kind}: expected to fail*"
        lines.append(f"| {name} | {len(group)} | {worst.case if worst.failures else '–'} | {figures} |")
    return lines
