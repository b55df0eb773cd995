"""A whole grid for ten seeds, per certificate beside the references at one of its settings."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.speed.timing import Row, sample, seconds
from jaxcert.sweep import Grid, sweep

SUPPORT = (0.0, 1.0)
GRID = Grid(
    thresholds=np.linspace(0.2, 0.95, 600),
    bounds=("betting", "dkw", "empirical_bernstein", "hoeffding"),
    methods=("binomial", "scenario"),
    betas=(1e-4, 1e-3, 1e-2, 5e-2),
    deltas=(0.01, 0.05),
)


def sweeps() -> Iterator[Row]:
    """The whole, and the references at one of its settings."""
    from benchmarks.scipy_reference import plain_certify, vectorised_certify

    (whole,) = whole_sweep()
    yield whole
    returns = sample(1, 200, 1000)[0]
    settings: tuple[Any, ...] = (1e-4, 0.01, SUPPORT)
    levels = np.asarray(GRID.thresholds)
    plain = seconds(lambda: plain_certify(returns, levels[::150], *settings), 1) / len(levels[::150])
    vectorised = seconds(lambda: vectorised_certify(returns, levels, *settings), 5) / len(levels)
    for name, each in (("plain", plain), ("vectorised", vectorised)):
        ratio = each * (whole.ratio or 0.0)
        yield Row("sweep", f"{name} SciPy, one certificate", "[200, 1000]", each, ratio, "times jaxcert")


def whole_sweep() -> Iterator[Row]:
    """384,000 certificates by jaxcert, with how many per second."""
    returns = sample(10, 200, 1000)
    begin = time.perf_counter()
    count = sweep(returns, GRID, support=SUPPORT).safety.size
    first = time.perf_counter() - begin
    spent = seconds(lambda: sweep(returns, GRID, support=SUPPORT).safety, 7)
    yield Row("sweep", "whole", "10 x [200, 1000]", spent, count / spent, "certificates/s", first)
