"""Sides, accuracy, bits and speed of jaxcert on the default device, in one run.

    python -m benchmarks.gpu [--minutes 8] [--quick] [--only PART ...] [--out FILE]

sides       every numeric function in both precisions beside exact values (a table that Arb computed): the largest
            error, the share on the wrong side, which must be 0; and the share of bits that are those of the CPU
steps       the kernels and copies that a GPU runs for a certificate
certify, sweep, summaries, floors, growth
            as in ``python -m benchmarks.speed``, without the references that are not jaxcert's
arb         with python-flint: fresh random arguments, as in ``python -m benchmarks.accuracy``

Needs no extra. What the minutes do not suffice for is left out and named. One CSV holds every row with the device, its
driver and the versions. Ends with an error if a result lies on its wrong side.
"""

import functools
import importlib.util
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from benchmarks._common import RESULTS, Row, machine, parser, shown, write_rows
from benchmarks.gpu.sides import sides
from benchmarks.gpu.timings import PARTS, steps

QUICK_CASES = 12


def main(arguments: list[str] | None = None) -> int:
    """Run the parts, print each row as it comes, write the table; 1 if anything was unsafe."""
    names = ("sides", "steps", *PARTS, "arb")
    given = parser("gpu", __doc__, names)
    given.add_argument("--minutes", type=float, default=8.0, help="no row is begun after these")
    given.add_argument("--quick", action="store_true", help="few cases, and of the timings certify alone")
    given.add_argument("--out", type=Path, help="by default benchmarks/results/gpu-DEVICE.csv")
    options = given.parse_args(arguments)
    print(machine())
    if jax.default_backend() != "gpu":
        print(f"no GPU: all figures are those of the {jax.default_backend()}", file=sys.stderr)
    wanted = options.only or (("sides", "steps", "certify") if options.quick else names)
    limit = QUICK_CASES if options.quick else None
    parts = {"sides": functools.partial(sides, limit=limit), "steps": steps, "arb": _fresh, **PARTS}
    rows = list(_within(options.minutes, parts, wanted))
    device = re.sub(r"[^a-z0-9]+", "-", jax.devices()[0].device_kind.lower()).strip("-")
    write_rows(rows, options.out or RESULTS / f"gpu-{device}.csv")
    unsafe = [row for row in rows if row.unit == "unsafe" and row.value > 0]
    for row in unsafe:
        print(f"unsafe: {row.name} in {row.size}", file=sys.stderr)
    return int(bool(unsafe))


def _within(minutes: float, parts: dict[str, Callable[[], Iterator[Row]]], wanted: tuple[str, ...]) -> Iterator[Row]:
    """The rows as they come, until the time is up; what is left out then is named."""
    end = time.monotonic() + 60 * minutes
    for name in wanted:
        begin, rows = time.monotonic(), shown(parts[name]())
        while time.monotonic() <= end and (row := next(rows, None)) is not None:
            yield row
        if time.monotonic() <= end:
            yield Row(name, "whole part", "", time.monotonic() - begin, "s")
        else:
            yield Row(name, "left out, or cut short", "", minutes, "minutes")
            print(f"{minutes:g} minutes are over: {name} is left out, or cut short", file=sys.stderr)


def _fresh() -> Iterator[Row]:
    """The cells of the accuracy benchmark, where interval arithmetic is installed."""
    if importlib.util.find_spec("flint") is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    from benchmarks.accuracy import CASES, measure

    ours = [case for case in CASES if case.name.startswith("jaxcert")]
    with ThreadPoolExecutor(1) as worker:
        for cell in measure(ours, 600, 7, worker):
            size = f"{cell.precision}, n {cell.num_trials}, level {cell.depth}"
            yield Row("arb", cell.function.removeprefix("jaxcert "), size, cell.largest, "largest error")
            yield Row("arb", cell.function.removeprefix("jaxcert "), size, cell.unsafe, "unsafe")


if __name__ == "__main__":
    sys.exit(main())
