"""Timings on the device: the rows of ``benchmarks.speed`` that time jaxcert itself, and the trips of its loops."""

from collections.abc import Iterator

from benchmarks.gpu.rows import Row
from benchmarks.jaxprs import count_trips
from benchmarks.launches import CALLS, certificate
from benchmarks.speed.certify import certificates
from benchmarks.speed.floors import floors
from benchmarks.speed.growth import growth
from benchmarks.speed.summaries import summaries
from benchmarks.speed.sweeps import whole_sweep
from benchmarks.speed.tasks import tasks
from benchmarks.speed.timing import Row as Timing

PARTS = {
    "certify": certificates,
    "sweep": whole_sweep,
    "tasks": tasks,
    "summaries": summaries,
    "floors": lambda: floors(64),
    "growth": growth,
}


def timings(part: str) -> Iterator[Row]:
    """Each timing with its ratio and its first call as rows of their own."""
    for timing in PARTS[part]():
        yield from _rows(timing)


def _rows(timing: Timing) -> Iterator[Row]:
    part, name, size, seconds, ratio, ratio_is, first, megabytes = timing
    memory = "" if megabytes is None else f"{megabytes:.1f} MB"
    yield Row(part, name, size, 1e3 * seconds, "ms", memory)
    if ratio is not None:
        yield Row(part, name, size, ratio, ratio_is)
    if first is not None:
        yield Row(part, name, size, first, "s, first call")


def trips() -> Iterator[Row]:
    """How many loop trips follow one another."""
    for name, options in CALLS.items():
        call, arguments = certificate(options)
        yield Row("trips", name, "[200, 100], t = 600", count_trips(call, *arguments), "trips")
