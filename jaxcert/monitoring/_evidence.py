"""Evidence in logarithms, each step rounded down: what a bet gains, mixtures of bets, sums over starting times."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import refuse
from jaxcert.numerics._elementary import exp, log, log1p
from jaxcert.numerics._rounding import cast, next_down, unit_roundoff

# Found by `python -m benchmarks.monitoring`: 1/4 for a risk that triples, 1/32 for one that grows by half.
BETS, WEIGHTS = (0.25, 0.125, 0.0625, 0.03125), (3 / 9, 3 / 9, 2 / 9, 1 / 9)


def prepare_bets(bets: Sequence[float], weights: Sequence[float], dtype: np.dtype) -> tuple[jax.Array, jax.Array]:
    """Bets [g], and the logarithms of their weights [g], rounded down so that the weights do not exceed 1 together."""
    found = np.asarray(bets, np.float64), np.asarray(weights, np.float64)
    for name, array in zip(("bets", "weights"), found, strict=True):
        if array.ndim != 1 or array.size == 0 or array.shape != found[0].shape:
            raise ValueError(f"{name} has shape {array.shape}; expected one number for each of at least one bet")
        refuse(name, array, (array > 0) & (array <= 1), "a number in (0, 1]")
    if abs(found[1].sum() - 1) > 1e-9:
        raise ValueError(f"weights add up to {found[1].sum():.9g}; expected 1")
    # Doubles that add up to 1 up to 1e-9, and its own rounding and that of the logarithm, 2**-50: less than this.
    logs = np.log(found[1]) - np.log(max(found[1].sum(), 1.0)) - 1e-14
    return cast(found[0], dtype, "nearest"), next_down(cast(logs, dtype, "down"))


def steps_down(bets: jax.Array, score: jax.Array) -> jax.Array:
    """At most ln(1 + lambda (score - 1)) for each bet, [g]; a score is nonnegative, of mean at most 1."""
    u = unit_roundoff(score.dtype)
    # Of a score that the type cannot hold, less counts.
    score = jnp.clip(score, 0.0, float(jnp.finfo(score.dtype).max) / 4)
    # 1 - lambda, the product and the sum: 3 u.
    return _log_down(((1 - bets) + bets * score) * (1 - 5 * u))


def plus_down(x: jax.Array, y: jax.Array) -> jax.Array:
    """At most x + y; either may be -inf."""
    total = x + y
    return total - 3 * unit_roundoff(total.dtype) * jnp.abs(total)


def one_more_down(x: jax.Array) -> jax.Array:
    """At most ln(1 + e**x)."""
    u = unit_roundoff(x.dtype)
    # The exponential and the logarithm are off by 2 u and 3 u; the first error does not grow in the second.
    return plus_down(jnp.maximum(x, 0), log1p(exp(-jnp.abs(x))) * (1 - 9 * u))


def mixture_down(logs: jax.Array) -> jax.Array:
    """At most ln of the sum of e**x over the last axis."""
    u, num = unit_roundoff(logs.dtype), logs.shape[-1]
    largest = jnp.max(logs, axis=-1)
    shift = jnp.where(jnp.isneginf(largest), 0, largest)
    # A term e**d <= 1 is off by |d| e**d u <= 0.4 u from the difference d, and 2 u; the sum, at least 1, by num u.
    total = jnp.sum(exp(logs - shift[..., None]), axis=-1) * (1 - (5 * num + 2) * u)
    return plus_down(shift, _log_down(total))


def goal_up(alpha: jax.Array) -> jax.Array:
    """At least ln(1/alpha); infinity for what is no probability."""
    goal = -log(alpha) * (1 + 6 * unit_roundoff(alpha.dtype))
    return jnp.where((alpha > 0) & (alpha < 1), goal, jnp.inf)


def _log_down(x: jax.Array) -> jax.Array:
    """At most ln x, for x >= 0: the logarithm is off by 3 u."""
    found = log(x)
    return found - 6 * unit_roundoff(x.dtype) * jnp.abs(found)
