"""How soon a monitor finds that a claim has ceased to hold, and how often it is wrong.

    python -m benchmarks.monitoring [--only NAME ...]

bets       flags as coins, from the first task on: the median number of tasks until the alarm, for the default bets and
           others
edge       without a change, at the edge of the claim: how often there is an alarm within 2,000 tasks, of 10,000 runs
successes  tasks until the alarm after the risk has tripled (B = 0.7, good tasks at 0.9), by the number of successes up
           to which a task is flagged
levels     returns in [0, 1] from beta distributions, with a mean of B/2 for tasks that fall short and halfway between B
           and 1 for others: the median number of tasks until the alarm after the risk has tripled, by the level of the
           upper bound with which a task is judged: a share of the risk that is claimed, 0.05, and the default
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import markdown, parser, show
from jaxcert.bounds import betting
from jaxcert.monitoring import MonitorState, init
from jaxcert.monitoring._monitor_loop import BETS, WEIGHTS
from jaxcert.monitoring._monitor_state import advance
from jaxcert.monitoring._task_test import score_down

RUNS = 2000
OTHERS = {
    "default": (BETS, WEIGHTS),
    "equal weights": (BETS, (0.25,) * 4),
    "1/2 to 1/32": ((0.5, 0.25, 0.125, 0.0625, 0.03125), (0.2,) * 5),
    "1/4, 1/8": ((0.25, 0.125), (0.5, 0.5)),
}
CHANGES = ((0.1, 0.3), (0.1, 0.2), (0.05, 0.15), (0.1, 0.15), (0.02, 0.06))
Score = Callable[[MonitorState, jax.Array], jax.Array]


@functools.partial(jax.jit, static_argnames=("length", "runs", "score"))
def first_alarms(state: MonitorState, *, length: int, runs: int, score: Score) -> jax.Array:
    """When each run raises its alarm; 0 for never."""

    def one(key: jax.Array) -> jax.Array:
        def step(state: MonitorState, key: jax.Array) -> tuple[MonitorState, None]:
            return advance(state, score(state, key), jnp.asarray(True)), None

        return jax.lax.scan(step, state, jax.random.split(key, length))[0].alarm_at

    return jax.lax.map(one, jax.random.split(jax.random.key(0), runs), batch_size=1000)


def median(alarms: Any, length: int) -> float:
    """Of the times of alarms; length + 1 if most never come."""
    return float(np.median(np.where(np.asarray(alarms) == 0, length + 1, alarms)))


def shown(time: float, length: int) -> str:
    return f"{time:.0f}" if time <= length else f"> {length}"


# --- flags as coins -----------------------------------------------------------------------------------------------


def coins(rate: float) -> Score:

    def score(state: MonitorState, key: jax.Array) -> jax.Array:
        return jnp.where(jax.random.uniform(key) < rate, (1 - 2.0**-20) / state.test.largest, 0)

    return score


def of_rate(q: float, bets: Any = (BETS, WEIGHTS)) -> MonitorState:
    """A monitor whose tasks are flagged with probability q under the claim: one success or failure each, B = 1."""
    return init(1.0, q, successes=True, alpha=0.05, bets=bets[0], weights=bets[1], complete=True)


def by_bets() -> Iterator[str]:
    rows = ((name, *(_until(q, rate, bets) for q, rate in CHANGES)) for name, bets in OTHERS.items())
    return markdown(("bets", *(f"{q:g} to {rate:g}" for q, rate in CHANGES)), rows)


def _until(q: float, rate: float, bets: Any) -> str:
    return shown(median(first_alarms(of_rate(q, bets), length=600, runs=RUNS, score=coins(rate)), 600), 600)


def without_change() -> Iterator[str]:
    columns = ("flag rate", "alarms within 2,000 tasks", "of 10,000 runs, %")
    rates = (0.02, 0.1, 0.3)
    found = (int(np.count_nonzero(first_alarms(of_rate(q), length=2000, runs=10_000, score=coins(q)))) for q in rates)
    return markdown(columns, ((f"{q:g}", count, f"{count / 100:.2f}") for q, count in zip(rates, found, strict=True)))


# --- successes ----------------------------------------------------------------------------------------------------


def bad_tasks(share: float, bad: float, good: float) -> Score:
    """Tasks with these probabilities of success, of which a share is bad."""

    def score(state: MonitorState, key: jax.Array) -> jax.Array:
        which, rollouts = jax.random.split(key)
        mean = jnp.where(jax.random.uniform(which) < share, bad, good)
        returns = (jax.random.uniform(rollouts, (state.test.num_rollouts,)) < mean).astype(jnp.float32)
        return score_down(state.test, returns)[0]

    return score


def by_successes() -> Iterator[str]:
    columns = ("m", "bad tasks", "c by default", "tasks until the alarm", "best c", "tasks")
    return markdown(columns, itertools.starmap(_by_count, itertools.product((1, 5, 10, 20), (0.2, 0.35))))


def _by_count(m: int, bad: float) -> tuple:
    start = functools.partial(init, 0.7, 0.1, successes=True, num_rollouts=m, complete=True)
    score, chosen = bad_tasks(0.3, bad, 0.9), int(start().test.most_successes)
    alarms = (first_alarms(start(most_successes=c), length=400, runs=300, score=score) for c in range(m))
    times = [median(each, 400) for each in alarms]
    best = int(np.argmin(times))
    return m, f"{bad:g}", chosen, shown(times[chosen], 400), best, shown(times[best], 400)


# --- the level of the upper bound ---------------------------------------------------------------------------------

SHARES = (0.02, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0)  # of the risk that is claimed
ROLLOUTS = (3, 5, 10, 20, 50)
CLAIMS = tuple(itertools.product((0.3, 0.5, 0.8), (0.02, 0.1, 0.2)))
TASKS, LENGTH, ALPHA = 2000, 1000, 0.05
SPREADS = (1.0, 4.0)  # a + b of the beta distribution of returns: 1 is near to failure and success alone


def by_level() -> Iterator[str]:
    """By spread, threshold, risk and number of rollouts."""
    columns = ("spread", "B", "risk", "m", *(f"{share:.3g}" for share in SHARES), "0.05", "default", "tasks")
    return markdown(columns, itertools.starmap(_by_level, itertools.product(SPREADS, CLAIMS, ROLLOUTS)))


def _by_level(spread: float, claim: tuple[float, float], m: int) -> tuple:
    threshold, epsilon = claim
    default = float(init(*claim, support=(0, 1), num_rollouts=m, complete=True).test.beta)
    levels = (*(share * epsilon for share in SHARES), 0.05, default)
    some = [jnp.float32(x) for x in (spread, threshold, levels)]
    bad, good = (
        np.asarray(flag_rates(jax.random.key(m), jnp.float32(mean), *some, m=m), np.float64)
        for mean in (threshold / 2, (1 + threshold) / 2)
    )
    rates = 3 * epsilon * bad + (1 - 3 * epsilon) * good
    pairs = zip(rates, levels, strict=True)
    *cells, chosen = (shown(delay(rate, epsilon + (1 - epsilon) * level), LENGTH) for rate, level in pairs)
    return f"{spread:g}", f"{threshold:g}", f"{epsilon:g}", m, *cells, f"{default:.3g}", chosen


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
    flags = np.cumsum(np.random.default_rng(0).random((1000, LENGTH)) < rate, axis=1)
    times, bets = np.arange(1, LENGTH + 1), np.asarray(BETS)[:, None, None]
    logs = flags * np.log1p(bets * (1 / q - 1)) + (times - flags) * np.log1p(-bets)
    reached = np.tensordot(WEIGHTS, np.exp(np.minimum(logs, 700)), 1) >= 1 / ALPHA
    return median(np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, 0), LENGTH)


PARTS = {"bets": by_bets, "edge": without_change, "successes": by_successes, "levels": by_level}


def main() -> None:
    for name in parser("monitoring", __doc__, PARTS).parse_args().only or PARTS:
        show(PARTS[name]())


if __name__ == "__main__":
    main()
