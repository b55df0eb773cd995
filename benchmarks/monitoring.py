"""How soon a monitor finds that a claim has ceased to hold, and how often it is wrong.

    python -m benchmarks.monitoring [--only NAME ...]

change     flags as coins, from the first task on: the median number of tasks until the alarm
edge       without a change, at the edge of the claim: how often there is an alarm within 2,000 tasks, of 10,000 runs
successes  tasks until the alarm after the risk has tripled (B = 0.7, good tasks at 0.9), by the number of successes up
           to which a task is flagged
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import markdown, parser, show
from jaxcert.monitoring import MonitorState, init
from jaxcert.monitoring._monitor_state import advance
from jaxcert.monitoring._task_test import score_down

RUNS = 2000
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


def of_rate(q: float) -> MonitorState:
    """A monitor whose tasks are flagged with probability q under the claim: one success or failure each, B = 1."""
    return init(1.0, q, successes=True, alpha=0.05, complete=True)


def by_change() -> Iterator[str]:
    return markdown([f"{q:g} to {rate:g}" for q, rate in CHANGES], [[_until(*change) for change in CHANGES]])


def _until(q: float, rate: float) -> str:
    return shown(median(first_alarms(of_rate(q), length=600, runs=RUNS, score=coins(rate)), 600), 600)


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
    columns = ("m", "bad tasks", "c", "tasks until the alarm")
    return markdown(columns, itertools.starmap(_by_count, itertools.product((1, 5, 10, 20), (0.2, 0.35))))


def _by_count(m: int, bad: float) -> tuple:
    state = init(0.7, 0.1, successes=True, num_rollouts=m, complete=True)
    alarms = first_alarms(state, length=400, runs=300, score=bad_tasks(0.3, bad, 0.9))
    return m, f"{bad:g}", int(state.test.most_successes), shown(median(alarms, 400), 400)


PARTS = {"change": by_change, "edge": without_change, "successes": by_successes}


def main() -> None:
    for name in parser("monitoring", __doc__, PARTS).parse_args().only or PARTS:
        show(PARTS[name]())


if __name__ == "__main__":
    main()
