"""How few rollouts certify: adaptive and sequential certificates beside those of a fixed number of rollouts.

    python -m benchmarks.few_rollouts [--plot docs/few_rollouts.png]

1. The sample returns in 20 random orders of each task's rollouts: the risk certified by the default and by the paper's
   method from all of them, and by ``certify_sequential``, with the rollouts per task that it used.
2. The rollouts, in all, until a wanted certificate is reached, by ``certify_adaptive`` on tasks and rollouts drawn anew
   from the samples, over 20 keys.
3. BridgeWorld: episodes and time of ``certify_adaptive`` and of a fixed number of episodes, over 20 keys.
"""

import argparse
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive, certify_policy
from jaxcert.sequential import certify_sequential
from jaxcert.tasks import bridge_world

THRESHOLDS = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}
SETTINGS: dict[str, Any] = {"support": (0, 1000), "delta": 0.01}
PAPER: dict[str, Any] = {"bound": "empirical_bernstein", "method": "scenario", "beta": 1e-4}
WANTED = (("cheetah", 400.0, 0.9), ("cheetah", 500.0, 0.9), ("walker", 500.0, 0.9), ("walker", 600.0, 0.9))
BRIDGE = (("right", 0.7), ("right", 0.8), ("left", 0.5), ("left", 0.6))
NUM_ORDERS, NUM_KEYS = 20, 20


def main() -> None:
    """Print the tables, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path)
    plot = parser.parse_args().plot
    for table in (recorded(), until(), bridge()):
        print("\n".join(table), end="\n\n", flush=True)
    if plot is not None:
        draw(plot)


def _row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _header(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


# --- the sample returns -------------------------------------------------------------------------------------------


def recorded() -> Iterator[str]:
    """A row per sample and threshold."""
    yield from _header(
        "sample", "rollouts", "B", "the paper, all", "default, all", "sequential", "rollouts used per task"
    )
    for name, thresholds in THRESHOLDS.items():
        returns = jaxcert.sample_returns(name)
        paper = jaxcert.certify(returns, thresholds, **SETTINGS, **PAPER).epsilon
        default = jaxcert.certify(returns, thresholds, **SETTINGS).epsilon
        for b, of_paper, of_default in zip(thresholds, paper, default, strict=True):
            found = certify_sequential(orders(returns), b, **SETTINGS)
            figures = [f"{float(value):.3f}" for value in (of_paper, of_default, np.mean(found.epsilon))]
            size = " × ".join(map(str, returns.shape))
            yield _row(name, size, f"{b:g}", *figures, f"{np.mean(found.num_rollouts_used):.1f}")


def orders(returns: np.ndarray) -> np.ndarray:
    """The returns with the rollouts of each task in random orders, [orders, n, m]."""
    rng = np.random.default_rng(0)
    return np.stack([rng.permuted(returns, axis=1) for _ in range(NUM_ORDERS)])


# --- until a wanted certificate is reached ------------------------------------------------------------------------


class _State(NamedTuple):
    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    key: jax.Array


@dataclasses.dataclass(frozen=True)
class _Recorded:
    """An episode is one step, whose reward is drawn from the recorded returns of a task."""

    returns: jax.Array

    def reset(self, rng: jax.Array) -> _State:
        return _State(jnp.zeros(()), jnp.zeros(()), jnp.zeros((), bool), rng)

    def step(self, state: _State, action: jax.Array) -> _State:
        return _State(state.obs, jax.random.choice(state.key, self.returns), jnp.ones((), bool), state.key)


def recorded_env(returns: np.ndarray) -> MultiTaskEnv:
    """Tasks drawn from those of the sample."""
    rows = jnp.asarray(returns, jnp.float32)
    return MultiTaskEnv(_Recorded, lambda key: jax.random.choice(key, rows), 1, (0.0, 1000.0))


_POLICY = Policy(lambda params, obs, key: jnp.zeros(()), (), deterministic=True)


def until() -> Iterator[str]:
    """A row per wanted certificate, with the mean number of rollouts that began."""
    schedules, slots = ("round_robin", "closest"), (50, 200)
    names = [f"{schedule}, {s} slots" for schedule in schedules for s in slots]
    yield from _header("at least", "on", *names)
    for name, b, safety in WANTED:
        env = recorded_env(jaxcert.sample_returns(name))
        counts = [f"{_rollouts_until(env, b, safety, x, s):,.0f}" for x in schedules for s in slots]
        yield _row(f"{name} {b:g}", f"{safety:.0%}", *counts)


def _rollouts_until(env: MultiTaskEnv, threshold: float, safety: float, schedule: str, num_slots: int) -> float:
    settings = {"num_tasks": 200, "max_rollouts": 8000, "delta": 0.01, "until": safety, "num_slots": num_slots}
    keys = [jax.random.key(i) for i in range(NUM_KEYS)]
    runs = [certify_adaptive(env, _POLICY, key, threshold, **settings, schedule=schedule) for key in keys]
    return float(np.mean([int(run.num_started) for run in runs]))


# --- BridgeWorld --------------------------------------------------------------------------------------------------


def bridge() -> Iterator[str]:
    """A row per policy and threshold: episodes per task and time, beside the fixed number of equal risk."""
    names = ("policy", "B", "adaptive: risk", "episodes", "ms", "fixed: risk", "episodes", "ms")
    yield from _header(*names, "times fewer episodes", "times the speed")
    for name, b in BRIDGE:
        policy = bridge_world.table_policy(getattr(bridge_world, f"{name}_policy")())
        call = functools.partial(_adaptive_bridge, policy, b)
        m = _fixed_of_equal_risk(policy, b, float(np.mean([call(key)[0] for key in _keys()])))
        adaptive, fixed = _averages(call, functools.partial(_fixed_bridge, policy, b, m))
        shown = [f"{risk:.3f} | {count:.0f} | {1000 * spent:.0f}" for risk, count, spent in (adaptive, fixed)]
        yield _row(name, b, *shown, f"{fixed[1] / adaptive[1]:.1f}", f"{fixed[2] / adaptive[2]:.2f}")


def _keys() -> list[jax.Array]:
    return [jax.random.key(i) for i in range(NUM_KEYS)]


def _adaptive_bridge(policy: Policy, threshold: float, key: jax.Array) -> tuple[float, float]:
    """Risk, and episodes per task."""
    settings = {"num_tasks": 200, "max_rollouts": 200_000, "delta": 0.01, "max_rollouts_per_task": 1000}
    found = certify_adaptive(bridge_world.ENV, policy, key, threshold, binary=True, num_slots=1000, **settings)
    return float(found.certificate.epsilon[0]), int(found.num_started) / 200


def _fixed_bridge(policy: Policy, threshold: float, m: int, key: jax.Array) -> tuple[float, float]:
    settings = {"num_tasks": 200, "num_rollouts": m, "delta": 0.01, "bound": "clopper_pearson", "method": "binomial"}
    return float(certify_policy(bridge_world.ENV, policy, key, threshold, **settings).certificate.epsilon[0]), m


def _fixed_of_equal_risk(policy: Policy, threshold: float, risk: float) -> int:
    """The number of episodes per task, in steps of 50, whose mean risk is at most that."""
    for m in range(50, 1001, 50):
        if np.mean([_fixed_bridge(policy, threshold, m, key)[0] for key in _keys()]) <= risk:
            return m
    return 1000


def _averages(*calls: Callable[[jax.Array], tuple[float, float]]) -> list[tuple[float, float, float]]:
    """Mean risk and episodes over keys, and the median time of a call that compiles nothing; the calls take turns."""
    for call in calls:
        call(jax.random.key(0))
    found, spent = [[] for _ in calls], [[] for _ in calls]
    for key in _keys():
        for call, values, times in zip(calls, found, spent, strict=True):
            begin = time.perf_counter()
            values.append(call(key))
            times.append(time.perf_counter() - begin)
    means = [np.mean(values, axis=0) for values in found]
    return [(float(x), float(y), float(np.median(times))) for (x, y), times in zip(means, spent, strict=True)]


# --- the figure ---------------------------------------------------------------------------------------------------

COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 90)


def draw(path: Path) -> None:
    """Certified safety against rollouts per task: a fixed number of them, and adaptive."""
    from matplotlib.figure import Figure

    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("the paper", "k:", PAPER),
        ("default", "C0--", {}),
        ("soft count", "C1-.", {"method": "soft"}),
    ]
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, (name, b) in zip(
        figure.subplots(1, 2, sharey=True), (("cheetah", 500.0), ("walker", 500.0)), strict=True
    ):
        samples = orders(jaxcert.sample_returns(name))
        for label, style, settings in ways:
            counts = [m for m in COUNTS if m > 1 or settings is not PAPER]
            safety = [jaxcert.certify(samples[..., :m], b, **SETTINGS, **settings).safety.mean() for m in counts]
            axes.plot(counts, safety, style, label=label)
        runs = [certify_adaptive(recorded_env(samples[0]), _POLICY, jax.random.key(i), b, **_GROWN) for i in range(5)]
        for i, run in enumerate(runs):
            rollouts, safety = run.growth()
            axes.step(rollouts / 200, safety, "C2", where="post", lw=1, label=None if i else "adaptive, 5 runs")
        axes.set(xscale="log", title=f"{name}, return of at least {b:g}", xlabel="rollouts per task (200 tasks)")
        axes.set_xlim(1, 90)
        axes.set_xticks(ticks := (1, 2, 5, 10, 20, 50), list(map(str, ticks)))
        axes.minorticks_off()
    figure.axes[0].set_ylabel("certified share of new tasks")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)


_GROWN = {"num_tasks": 200, "max_rollouts": 8000, "delta": 0.01, "schedule": "closest"}


if __name__ == "__main__":
    main()
