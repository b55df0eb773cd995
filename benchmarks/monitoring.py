"""How soon a monitor finds that a claim has ceased to hold, and how often it is wrong.

1. Flags as coins, from the first task on: the median number of tasks until the alarm, for the default bets and others.
2. Without a change, at the edge of the claim: how often there is an alarm within 2,000 tasks, of 10,000 runs.
3. A change after 1,000 good tasks: tasks from there until it is found, and the mean run length without one.
4. Which number of successes: tasks until the alarm, by the number up to which a task is flagged.
5. How many tasks a second a monitor in a file records, by how many arrive at a time, and reads again.

    python -m benchmarks.monitoring
"""

import functools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.monitoring import Monitor, MonitoredClaim, MonitorState, init
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


@functools.partial(jax.jit, static_argnames=("length", "runs", "score"))
def first_alarms(
    state: MonitorState, key: jax.Array, *, length: int, runs: int, score: Callable[..., Any]
) -> tuple[jax.Array, jax.Array]:
    """When each run raises its alarm, and the one of a change: [2, runs], 0 for never."""

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(state: MonitorState, both: tuple[jax.Array, jax.Array]) -> tuple[MonitorState, None]:
            return advance(state, score(state, *both), jnp.asarray(True)), None

        keys = jax.random.split(key, length)
        last, _ = jax.lax.scan(step, state, (keys, jnp.arange(length)))
        return last.alarm_at, last.change_at

    return jax.lax.map(one, jax.random.split(key, runs), batch_size=1000)


def coins(rate: float, *, after: int = 0, before: float = 0.0) -> Callable[..., jax.Array]:
    """Flags at a rate, and before a time at another one."""

    def score(state: MonitorState, key: jax.Array, t: jax.Array) -> jax.Array:
        chance = jnp.where(t < after, before, rate)
        return jnp.where(jax.random.uniform(key) < chance, (1 - 2.0**-20) / state.test.largest, 0)

    return score


def of_rate(q: float, bets: Any = (BETS, WEIGHTS), alpha: float = 0.05) -> MonitorState:
    """A monitor whose tasks are flagged with probability q under the claim: one success or failure each, B = 1."""
    return init(1.0, q, successes=True, alpha=alpha, bets=bets[0], weights=bets[1], complete=True)


def median(found: np.ndarray, length: int) -> str:
    value = float(np.median(np.where(found == 0, length + 1, found)))
    return f"{value:.0f}" if value <= length else f"> {length}"


def by_bets(key: jax.Array) -> None:
    """Tasks until the alarm, in the median."""
    print("| bets | " + " | ".join(f"{q:g} to {r:g}" for q, r in CHANGES) + " |\n|---|" + "---|" * len(CHANGES))
    for name, bets in OTHERS.items():
        cells = []
        for q, rate in CHANGES:
            alarms, _ = first_alarms(of_rate(q, bets), key, length=600, runs=RUNS, score=coins(rate))
            cells.append(median(np.asarray(alarms), 600))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def without_change(key: jax.Array) -> None:
    """Alarms at the edge of the claim; none of a change may come sooner than 1/alpha tasks on average."""
    print("\n| flag rate | alarms within 2,000 tasks | of 10,000 runs, % |\n|---|---|---|")
    for q in (0.02, 0.1, 0.3):
        alarms, _ = first_alarms(of_rate(q), key, length=2000, runs=10_000, score=coins(q))
        count = int(np.count_nonzero(alarms))
        print(f"| {q:g} | {count} | {count / 100:.2f} |", flush=True)


def after_good_tasks(key: jax.Array) -> None:
    """Delays after 1,000 tasks at the edge, and run lengths without a change, cut at 20,000 tasks."""
    print("\n| alpha | mean run length without a change | delay, 0.1 to 0.3 | 0.1 to 0.2 |\n|---|---|---|---|")
    for alpha in (0.01, 0.001):
        state = of_rate(0.1, alpha=alpha)
        _, lengths = first_alarms(state, key, length=20_000, runs=500, score=coins(0.1))
        mean = np.mean(np.where(np.asarray(lengths) == 0, 20_000, lengths))
        cells = []
        for rate in (0.3, 0.2):
            score = coins(rate, after=1000, before=0.05)
            _, changes = first_alarms(state, key, length=1500, runs=RUNS, score=score)
            late = np.asarray(changes)[(np.asarray(changes) == 0) | (np.asarray(changes) > 1000)]
            cells.append(f"{median(np.maximum(late - 1000, 0), 500)} ({1 - len(late) / RUNS:.2f} false before)")
        print(f"| {alpha:g} | {mean:.0f} | {cells[0]} | {cells[1]} |", flush=True)


def bad_tasks(share: float, bad: float, good: float) -> Callable[..., jax.Array]:
    """Tasks with these probabilities of success, of which a share is bad."""

    def score(state: MonitorState, key: jax.Array, t: jax.Array) -> jax.Array:
        which, rollouts = jax.random.split(key)
        mean = jnp.where(jax.random.uniform(which) < share, bad, good)
        returns = (jax.random.uniform(rollouts, (state.test.num_rollouts,)) < mean).astype(jnp.float32)
        return score_down(state.test, returns)[0]

    return score


def by_successes(key: jax.Array) -> None:
    """The number c: tasks until the alarm after the risk has tripled, B = 0.7, good tasks at 0.9."""
    print("\n| m | bad tasks | c by default | tasks until the alarm | best c | tasks |\n|---|---|---|---|---|---|")
    for m in (1, 5, 10, 20):
        for bad in (0.2, 0.35):
            score, times = bad_tasks(0.3, bad, 0.9), {}
            chosen = int(init(0.7, 0.1, successes=True, num_rollouts=m, complete=True).test.most_successes)
            for c in range(m):
                state = init(0.7, 0.1, successes=True, num_rollouts=m, most_successes=c, complete=True)
                alarms, _ = first_alarms(state, key, length=400, runs=300, score=score)
                times[c] = float(np.median(np.where(np.asarray(alarms) == 0, 401, alarms)))
            best = min(times, key=lambda c: times[c])
            shown = {c: "> 400" if time > 400 else f"{time:.0f}" for c, time in times.items()}
            print(f"| {m} | {bad:g} | {chosen} | {shown[chosen]} | {best} | {shown[best]} |", flush=True)


def in_a_file(key: jax.Array) -> None:
    """Tasks a second, each on the disk before the next batch; the fastest of three runs."""
    values = np.asarray(jax.random.uniform(key, (20_000,)) < 0.97, np.float64)
    tasks = [(f"task {i}", [value]) for i, value in enumerate(values)]
    print("\n| tasks at a time | tasks a second |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.monitor"
        for size in (1, 100, 5000):
            some = tasks[: 200 * size]
            print(f"| {size} | {rate_of(functools.partial(record, path, some, size), len(some)):.0f} |", flush=True)
        print(f"| read again | {rate_of(functools.partial(Monitor, path), len(tasks)):.0f} |", flush=True)


def record(path: Path, tasks: list[tuple[str, list[float]]], size: int) -> None:
    path.unlink(missing_ok=True)
    monitor = Monitor.start(path, MonitoredClaim(0.5, 0.1), successes=True, complete=True)
    for first in range(0, len(tasks), size):
        monitor.add(tasks[first : first + size])


def rate_of(run: Callable[[], Any], count: int) -> float:
    run()  # compiles
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return count / min(times)


def main() -> None:
    key = jax.random.key(0)
    for part in (by_bets, without_change, after_good_tasks, by_successes, in_a_file):
        part(key)


if __name__ == "__main__":
    main()
