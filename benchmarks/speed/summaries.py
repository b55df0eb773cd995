"""More rollouts than memory holds: 10^6 tasks with 10^3 rollouts each, taken in batch by batch."""

import time
from collections.abc import Iterator
from typing import Any

import jax

from benchmarks.speed.timing import Row, seconds
from jaxcert import Certificate, certify
from jaxcert.rollouts.summaries import Histogram, Moments

NUM_TASKS, NUM_ROLLOUTS, NUM_BATCHES = 10**6, 10**3, 40
BINS = 64


def summaries() -> Iterator[Row]:
    """Returns are drawn on the device, and the drawing is not timed."""
    empty = {
        "moments, hoeffding": (Moments.empty(NUM_TASKS, support=(0, 1)), "hoeffding"),
        f"histogram of {BINS} bins, dkw": (Histogram.empty(NUM_TASKS, support=(0, 1), num_bins=BINS), "dkw"),
    }
    size = f"[{NUM_TASKS}, {NUM_ROLLOUTS}]"
    for name, (summary, bound) in empty.items():
        spent, summary, megabytes = _take_in(summary)
        yield Row("summaries", name, size, spent, NUM_TASKS * NUM_ROLLOUTS / spent, "rollouts/s", None, megabytes)

        def certificate(summary: Any = summary, bound: str = bound) -> Certificate:
            return certify(summary, [0.2, 0.4], delta=0.01, bound=bound)

        first, later = seconds(certificate, 1), seconds(certificate, 3)
        yield Row("summaries", f"certify from {name}", size, later, first_call_seconds=first)


def _take_in(summary: Any) -> tuple[float, Any, float | None]:
    """The time of all updates, the summary, and the megabytes of summary, batch and temporaries."""
    draw = jax.jit(lambda key: jax.random.uniform(key, (NUM_TASKS, NUM_ROLLOUTS // NUM_BATCHES)) ** 0.5)
    update = jax.jit(lambda summary, batch: summary.update(batch, validate=False), donate_argnums=0)
    keys = jax.random.split(jax.random.key(0), NUM_BATCHES)
    compiled = update.lower(summary, draw(keys[0])).compile()
    spent = 0.0
    for key in keys:
        batch = jax.block_until_ready(draw(key))
        begin = time.perf_counter()
        summary = jax.block_until_ready(compiled(summary, batch))
        spent += time.perf_counter() - begin
    return spent, summary, _megabytes(compiled)


def _megabytes(compiled: jax.stages.Compiled) -> float | None:
    sizes = compiled.memory_analysis()
    if sizes is None:
        return None
    shared = sizes.alias_size_in_bytes
    return (sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes - shared) / 2**20
