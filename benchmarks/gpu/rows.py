"""The rows of the benchmark of a device, and the file that they go to."""

import importlib.metadata
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import jax

from benchmarks._common import RESULTS, driver, write_csv

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "python-flint", "brax", "playground", "tfp-nightly")


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


def show(row: Row) -> None:
    print(f"{row.part:10}{row.name:42}{row.size:26}{row.value:14.6g} {row.unit:16}{row.note}", flush=True)


def device() -> str:
    """The kind of the first device."""
    return jax.devices()[0].device_kind


def default_path() -> Path:
    """A file for this device beside the other results."""
    name = re.sub(r"[^a-z0-9]+", "-", device().lower()).strip("-")
    return RESULTS / f"gpu-{name}.csv"


def environment() -> dict[str, str]:
    """The device, its driver and runtime, and the versions of what is installed."""
    client = jax.devices()[0].client
    found = {
        "device": f"{device()} x {jax.device_count()}",
        "driver": driver() or "none",
        "runtime": " ".join(client.platform_version.split()),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def write(rows: Iterable[Row], out: Path) -> None:
    """One CSV: every row, and in its last columns what it was measured on."""
    columns = environment()
    write_csv(out, [*Row._fields, *columns], [(*row, *columns.values()) for row in rows])
