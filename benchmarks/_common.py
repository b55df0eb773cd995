"""What benchmarks share: options, tables, files, timings, and the machine they were made on."""

import argparse
import csv
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

RESULTS = Path(__file__).parent / "results"


def parser(name: str, description: str | None, only: Iterable[str] | None = None) -> argparse.ArgumentParser:
    """The options of ``python -m benchmarks.NAME``; ``only`` are the parts among which ``--only`` chooses."""
    kind = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(f"python -m benchmarks.{name}", description=description, formatter_class=kind)
    if only is not None:
        made.add_argument(
            "--only", nargs="+", choices=tuple(only), action="extend", metavar="NAME", help="which; repeatable"
        )
    return made


# --- tables and files -------------------------------------------------------------------------------------------------


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()) -> Iterator[str]:
    """A table, a line per row as it comes; floats with three decimals. Columns of numbers may stand on the right."""
    yield f"| {' | '.join(columns)} |"
    yield "|" + "".join("---:|" if name in numbers else "---|" for name in columns)
    for row in rows:
        yield f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in row)} |"


def show(lines: Iterable[str]) -> None:
    """Print each line as it comes, and an empty one."""
    for line in lines:
        print(line, flush=True)
    print()


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Floats with six figures, which are enough."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


# --- measurements -----------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One figure.

    Attributes:
        part: of the benchmark.
        name: what was measured.
        size: of which problem, or in which precision.
        value: the figure.
        unit: of the figure.
        note: what else belongs to it.
    """

    part: str
    name: str
    size: str
    value: float
    unit: str
    note: str = ""


def shown(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each printed as it comes."""
    for row in rows:
        print(f"{row.part:10}{row.name:42}{row.size:26}{row.value:14.6g} {row.unit:24}{row.note}", flush=True)
        yield row


def write_rows(rows: Iterable[Row], out: Path) -> None:
    """One CSV, with what each row was measured on."""
    write_csv(out, [*Row._fields, "machine"], [(*row, machine()) for row in rows])


def times(call: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of each call, result included."""
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(call())
        found.append(time.perf_counter() - begin)
    return found


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """The median time of a call."""
    return statistics.median(times(call, repeats))


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median times of two calls that alternate, both compiled before."""
    jax.block_until_ready((first(), second()))
    pairs = [(seconds(first, 1), seconds(second, 1)) for _ in range(repeats)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return one, other


def machine() -> str:
    """What the figures depend on."""
    device = jax.devices()[0]
    runtime = "" if device.platform == "cpu" else f", {' '.join(device.client.platform_version.split())}"
    runtime += f", driver {driver()}" if driver() else ""
    return (
        f"{device.device_kind} x {jax.device_count()} ({platform.machine()}, {os.cpu_count()} cores){runtime}, "
        f"Python {platform.python_version()}, jax {jax.__version__}, numpy {np.__version__}"
    )


def driver() -> str:
    """The version of NVIDIA's driver, where there is one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    query = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout.split()[0] if found.returncode == 0 and found.stdout else ""
