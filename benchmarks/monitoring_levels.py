"""The level of the upper bound with which a monitor judges a task: how soon it finds that the risk has tripled.

Returns in [0, 1] from beta distributions. Tasks that fall short have the mean B/2, others one halfway between B and 1.
For each number of rollouts and each claim: the median number of tasks until the alarm, at levels that are a share of
the risk that is claimed, at 0.05, and by default.

    python -m benchmarks.monitoring_levels
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds import betting
from jaxcert.monitoring import init
from jaxcert.monitoring._monitor_loop import BETS, WEIGHTS

# Of the risk that is claimed.
SHARES = (0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0)
ROLLOUTS = (3, 5, 10, 20, 50)
CLAIMS = tuple(itertools.product((0.3, 0.5, 0.8), (0.02, 0.1, 0.2)))
TASKS, RUNS, LENGTH, ALPHA = 2000, 1000, 1000, 0.05
SPREADS = (1.0, 4.0)  # a + b of the beta distribution of returns: 1 is near to failure and success alone


@functools.partial(jax.jit, static_argnames="m")
def flag_rates(
    key: jax.Array, mean: jax.Array, spread: jax.Array, threshold: jax.Array, levels: jax.Array, *, m: int
) -> jax.Array:
    """Which share of tasks with this mean is flagged at each level."""
    returns = jax.random.beta(key, spread * mean, spread * (1 - mean), (TASKS, m))
    uppers = jax.vmap(lambda level: -betting(-returns, level, support=(-1, 0), validate=False))(levels)
    return jnp.mean(uppers < threshold, axis=1)


def delay(rate: float, q: float) -> float:
    """The median number of tasks until the alarm, if a share ``rate`` is flagged where at most q is claimed."""
    flags = np.cumsum(np.random.default_rng(0).random((RUNS, LENGTH)) < rate, axis=1)
    times, bets = np.arange(1, LENGTH + 1), np.asarray(BETS)[:, None, None]
    logs = flags * np.log1p(bets * (1 / q - 1)) + (times - flags) * np.log1p(-bets)
    reached = np.tensordot(WEIGHTS, np.exp(np.minimum(logs, 700)), 1) >= 1 / ALPHA
    return float(np.median(np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, LENGTH + 1)))


def delays(m: int, spread: float, threshold: float, epsilon: float, levels: tuple[float, ...]) -> list[float]:
    """At each level."""
    some = [jnp.float32(x) for x in (spread, threshold)]
    bad, good = (
        np.asarray(flag_rates(jax.random.key(m), jnp.float32(mean), *some, jnp.float32(levels), m=m), np.float64)
        for mean in (threshold / 2, (1 + threshold) / 2)
    )
    rates = 3 * epsilon * bad + (1 - 3 * epsilon) * good
    return [delay(rate, epsilon + (1 - epsilon) * level) for rate, level in zip(rates, levels, strict=True)]


def shown(time: float) -> str:
    return f"{time:.0f}" if time <= LENGTH else f"> {LENGTH}"


def main() -> None:
    head = ["spread", "B", "risk", "m", *(f"{share:.3g}" for share in SHARES), "0.05", "default", "tasks"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for spread, (threshold, epsilon), m in itertools.product(SPREADS, CLAIMS, ROLLOUTS):
        default = float(init(threshold, epsilon, support=(0, 1), num_rollouts=m, complete=True).test.beta)
        levels = (*(share * epsilon for share in SHARES), 0.05, default)
        *cells, chosen = (shown(time) for time in delays(m, spread, threshold, epsilon, levels))
        row = [f"{spread:g}", f"{threshold:g}", f"{epsilon:g}", m, *cells, f"{default:.3g}", chosen]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
