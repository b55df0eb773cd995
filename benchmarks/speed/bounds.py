"""Each bound over the least that any implementation has to do; and more rollouts than memory holds."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import Row, in_turns, seconds
from benchmarks.speed.rows import sample, timed
from jaxcert import bounds, certify
from jaxcert.returns.summaries import Histogram

NUM_ROLLOUTS = 1000


def mean_and_variance(x: jax.Array, where: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    """Two of the simplest reductions."""
    return jnp.mean(x, axis=-1, where=where), jnp.var(x, axis=-1, where=where)


def log_pass(x: jax.Array, where: jax.Array | None) -> jax.Array:
    """One logarithm of each return."""
    return jnp.sum(jnp.log1p(0.5 * x), axis=-1, where=where)


def sort(x: jax.Array, where: jax.Array | None) -> jax.Array:
    """Each row in order, what is masked last."""
    return jnp.sort(x if where is None else jnp.where(where, x, jnp.inf), axis=-1)


FLOORS = {"hoeffding": mean_and_variance, "empirical_bernstein": mean_and_variance, "dkw": sort, "betting": log_pass}


def floors(megabytes: int = 64) -> Iterator[Row]:
    n = megabytes * 2**18 // NUM_ROLLOUTS
    x = jnp.asarray(sample(1, n, NUM_ROLLOUTS)[0])
    mask = jnp.asarray(np.random.default_rng(1).random(x.shape) < 0.9)
    options = {"support": (0.0, 1.0), "validate": False}
    for name, least in FLOORS.items():
        bound = jax.jit(lambda x, where, name=name: getattr(bounds, name)(x, 0.05, where=where, **options))
        for where, label in ((None, name), (mask, f"{name}, masked")):
            pair = functools.partial(bound, x, where), functools.partial(jax.jit(least), x, where)
            ours, base = in_turns(*pair, 15)
            size, unit = f"[{n}, {NUM_ROLLOUTS}]", f"times {least.__name__}"
            yield from timed("floors", label, size, ours, ours / base, unit)


# --- 10^6 tasks with 10^3 rollouts each, taken in batch by batch ---------------------------------------------------

NUM_TASKS, NUM_BATCHES, BINS = 10**6, 40, 64


def summaries() -> Iterator[Row]:
    """Returns are drawn on the device, and the drawing is not timed."""
    name, size = f"histogram of {BINS} bins, dkw", f"[{NUM_TASKS}, {NUM_ROLLOUTS}]"
    spent, summary, megabytes = _take_in(Histogram.empty(NUM_TASKS, support=(0, 1), num_bins=BINS))
    rate = NUM_TASKS * NUM_ROLLOUTS / spent
    yield from timed("summaries", name, size, spent, rate, "rollouts/s", megabytes=megabytes)
    certificate = functools.partial(certify, summary, [0.2, 0.4], delta=0.01, bound="dkw")
    first, later = seconds(certificate, 1), seconds(certificate, 3)
    yield from timed("summaries", f"certify from {name}", size, later, first=first)


def _take_in(summary: Any) -> tuple[float, Any, float | None]:
    """The time of all updates, the summary, and the megabytes of summary, batch and temporaries."""
    draw = jax.jit(lambda key: jax.random.uniform(key, (NUM_TASKS, NUM_ROLLOUTS // NUM_BATCHES)) ** 0.5)
    update = jax.jit(lambda summary, batch: summary.update(batch, validate=False), donate_argnums=0)
    keys = jax.random.split(jax.random.key(0), NUM_BATCHES)
    compiled = update.lower(summary, draw(keys[0])).compile()
    held, spent = [summary], 0.0

    def take(batch: jax.Array) -> Any:
        held[0] = compiled(held[0], batch)
        return held[0]

    for key in keys:
        spent += seconds(functools.partial(take, jax.block_until_ready(draw(key))), 1)
    return spent, held[0], _megabytes(compiled)


def _megabytes(compiled: jax.stages.Compiled) -> float | None:
    sizes = compiled.memory_analysis()
    if sizes is None:
        return None
    shared = sizes.alias_size_in_bytes
    return (sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes - shared) / 2**20
