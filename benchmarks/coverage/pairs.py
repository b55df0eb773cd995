"""Policies tried pair by pair, or several in blocks: how often one is shown to be better that is not, at any moment."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp

from benchmarks.coverage.cell import Cell
from benchmarks.coverage.worlds import DELTA
from jaxcert.sequential import init_pairs, shown_better, update_pairs

NUM_PAIRS = 400
Draw = Callable[[jax.Array, tuple[int, ...]], jax.Array]


def drifting(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Successes of equal policies, on scenes that become easier."""
    return jax.random.uniform(key, shape) < jnp.linspace(0.1, 0.9, shape[-1])


# Of equal policies, whatever is shown is false: successes, and scores in [0, 1].
LAWS: dict[str, Draw] = {
    "fair coins": lambda key, shape: jax.random.bernoulli(key, 0.5, shape),
    "rare failures": lambda key, shape: jax.random.bernoulli(key, 0.9, shape),
    "drifting": drifting,
    "uniform scores": jax.random.uniform,
    "extreme scores": lambda key, shape: jax.random.bernoulli(key, 0.5, shape).astype(jnp.float32),
}


def cells() -> Iterator[Cell]:
    """Each law, for two policies and for three."""
    for kind, num_policies in (("trials in pairs", 2), ("trials in blocks of three", 3)):
        for case, draw in LAWS.items():
            yield Cell(kind, case, DELTA, _trial(draw, num_policies, (0.0, 1.0) if "scores" in case else None))


def _trial(draw: Draw, num_policies: int, support: tuple[float, float] | None) -> Callable[[jax.Array, int], jax.Array]:
    start = init_pairs(delta=DELTA, support=support, num_policies=num_policies)

    @jax.vmap
    def after(returns: jax.Array) -> jax.Array:
        return shown_better(update_pairs(start, *returns, validate=False))

    return lambda key, size: jnp.any(after(draw(key, (size, num_policies, NUM_PAIRS))), axis=(1, 2))
