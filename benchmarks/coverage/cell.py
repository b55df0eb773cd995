"""What is simulated: one bound or certificate in one situation; how often it failed; the file and the table of it."""

import csv
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats

from benchmarks._common import markdown, write_csv

SIGNIFICANCE = 1e-4


class Cell(NamedTuple):
    """One bound or certificate in one situation.

    Attributes:
        kind: what is certified, the same for all its situations.
        case: the situation.
        level: how often it may fail, beta or delta.
        failed: from a key and a number of repetitions to whether each failed, bool[repetitions].
        repetitions: how many in all.
        chunk: how many at once, at most.
        sound: False for what is known to fail, shown for comparison.
    """

    kind: str
    case: str
    level: float
    failed: Callable[[jax.Array, int], np.ndarray | jax.Array]
    repetitions: int = 10_000
    chunk: int = 5000
    sound: bool = True

    @property
    def name(self) -> str:
        """Of the row in the results."""
        return f"{self.kind}: {self.case}"


class Result(NamedTuple):
    """A row of the results."""

    kind: str
    case: str
    repetitions: int
    failures: int
    level: float
    sound: bool

    @property
    def rate(self) -> float:
        """Of failures."""
        return self.failures / self.repetitions

    @property
    def p_value(self) -> float:
        """The exact probability of so many failures or more, if each had the probability that is allowed."""
        test = stats.binomtest(self.failures, self.repetitions, self.level, alternative="greater")
        return float(test.pvalue)

    @property
    def fails(self) -> bool:
        """More often than is allowed, beyond doubt."""
        return self.p_value < SIGNIFICANCE


def simulate(cell: Cell, repetitions: int | None = None) -> Result:
    """By default all repetitions. Each cell has its own random numbers, whichever others are simulated."""
    total = cell.repetitions if repetitions is None else min(repetitions, cell.repetitions)
    key, failures = jax.random.key(zlib.crc32(cell.name.encode())), 0
    for chunk, start in enumerate(range(0, total, cell.chunk)):
        size = min(cell.chunk, total - start)
        failures += int(np.sum(np.asarray(cell.failed(jax.random.fold_in(key, chunk), size))))
    return Result(cell.kind, cell.case, total, failures, cell.level, cell.sound)


def wrong(results: list[Result]) -> list[str]:
    """What contradicts the theory: sound cells that fail, and comparisons that nowhere fail."""
    found = [f"{each.kind}: {each.case} fails at rate {each.rate:.4g}" for each in results if each.sound and each.fails]
    compared = {each.kind for each in results if not each.sound}
    caught = {each.kind for each in results if not each.sound and each.fails}
    return found + [f"{kind} was expected to fail" for kind in sorted(compared - caught)]


# --- the results as a file, and in Markdown ---------------------------------------------------------------------------

COLUMNS = ("kind", "case", "repetitions", "failures", "rate", "level", "p-value", "sound")


def write(results: Iterable[Result], path: Path) -> None:
    write_csv(path, COLUMNS, ((*each[:4], each.rate, each.level, each.p_value, each.sound) for each in results))


def read(path: Path) -> list[Result]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Result(
            *(row["kind"], row["case"], int(row["repetitions"])),
            *(int(row["failures"]), float(row["level"]), row["sound"] == "True"),
        )
        for row in rows
    ]


def summary(results: Iterable[Result]) -> list[str]:
    """A line per kind, with the cell that failed most often for its level."""
    kinds: dict[str, list[Result]] = {}
    for each in results:
        kinds.setdefault(each.kind, []).append(each)
    columns = ("", "cells", "most failures in", "rate", "allowed", "p-value")
    return [
        *markdown(columns, (_worst(kind, group) for kind, group in kinds.items()), numbers=[columns[1], *columns[3:]])
    ]


def _worst(kind: str, group: list[Result]) -> tuple[Any, ...]:
    worst = max(group, key=lambda each: each.rate / each.level)
    name = kind if worst.sound else f"*{kind}: expected to fail*"
    figures = f"{worst.rate:.4f}", f"{worst.level:.3g}", f"{worst.p_value:.2g}"
    return name, len(group), worst.case if worst.failures else "–", *figures
