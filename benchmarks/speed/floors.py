"""Each bound over the least that any implementation has to do over the same array."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.speed.timing import Row, in_turns, sample
from jaxcert import bounds

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


FLOORS = {
    "hoeffding": mean_and_variance,
    "empirical_bernstein": mean_and_variance,
    "dkw": sort,
    "betting": log_pass,
}


def floors(megabytes: int) -> Iterator[Row]:
    """With and without a mask."""
    n = megabytes * 2**18 // NUM_ROLLOUTS
    x = jnp.asarray(sample(1, n, NUM_ROLLOUTS)[0])
    mask = jnp.asarray(np.random.default_rng(1).random(x.shape) < 0.9)
    for name, least in FLOORS.items():
        for where in (None, mask):
            ours, base = _time(bound_call(name), least, x, where)
            label = name if where is None else f"{name}, masked"
            yield Row("floors", label, f"[{n}, {NUM_ROLLOUTS}]", ours, ours / base, f"times {least.__name__}")


def bound_call(name: str) -> Callable[[jax.Array, jax.Array | None], jax.Array]:
    """The bound as a function of returns and mask."""
    function = getattr(bounds, name)
    return lambda x, where: function(x, 0.05, support=(0.0, 1.0), where=where, validate=False)


def _time(bound: Callable, least: Callable, x: jax.Array, where: jax.Array | None) -> tuple[float, float]:
    bound, least = jax.jit(bound), jax.jit(least)
    return in_turns(lambda: bound(x, where), lambda: least(x, where), 15)
