"""How few rollouts certify: adaptive and sequential certificates beside those of a fixed number of rollouts."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import markdown
from benchmarks.tightness.worlds import THRESHOLDS
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive
from jaxcert.sequential import certify_sequential
from jaxcert.tasks import from_functions

SETTINGS: dict[str, Any] = {"support": (0, 1000), "delta": 0.01}
PAPER: dict[str, Any] = {"bound": "empirical_bernstein", "method": "scenario", "beta": 1e-4}
# Of certify_adaptive on the samples.
ADAPTIVE: dict[str, Any] = {"num_tasks": 200, "max_rollouts": 8000, "delta": 0.01}
WANTED = (("cheetah", 400.0, 0.9), ("cheetah", 500.0, 0.9), ("walker", 500.0, 0.9), ("walker", 600.0, 0.9))
NUM_ORDERS, KEYS = 20, range(20)


def recorded() -> Iterator[str]:
    columns = ("sample", "rollouts", "B", "the paper, all", "default, all", "sequential", "rollouts used per task")
    return markdown(columns, (row for name in THRESHOLDS for row in _recorded(name)))


def _recorded(name: str) -> Iterator[tuple]:
    returns, thresholds = jaxcert.sample_returns(name), THRESHOLDS[name]
    paper, default = (jaxcert.certify(returns, thresholds, **SETTINGS, **way).epsilon for way in (PAPER, {}))
    for b, *of_all in zip(thresholds, paper, default, strict=True):
        found = certify_sequential(orders(returns), b, **SETTINGS)
        figures = map(float, (*of_all, np.mean(found.epsilon)))
        yield name, " × ".join(map(str, returns.shape)), f"{b:g}", *figures, f"{np.mean(found.num_rollouts_used):.1f}"


def orders(returns: np.ndarray) -> np.ndarray:
    """The returns with the rollouts of each task in random orders, [orders, n, m]."""
    rng = np.random.default_rng(0)
    return np.stack([rng.permuted(returns, axis=1) for _ in range(NUM_ORDERS)])


# --- until a wanted certificate is reached ------------------------------------------------------------------------


def recorded_env(returns: np.ndarray) -> MultiTaskEnv:
    """Tasks drawn from those of the sample; an episode is one step, whose reward is one of the task's returns."""
    rows, nothing = jnp.asarray(returns, jnp.float32), jnp.zeros(())
    return from_functions(
        lambda task, key: (nothing, nothing),
        lambda task, state, action, key: (state, nothing, jax.random.choice(key, task), True),
        lambda key: jax.random.choice(key, rows),
        episode_length=1,
        support=(0.0, 1000.0),
    )


_POLICY = Policy(lambda params, obs, key: jnp.zeros(()), ())


def until() -> Iterator[str]:
    """A row per wanted certificate, with the mean number of rollouts that began."""
    rows = ((f"{name} {b:g}", f"{safety:.0%}", _rollouts_until(name, b, safety)) for name, b, safety in WANTED)
    return markdown(("at least", "on", "rollouts"), rows)


def _rollouts_until(name: str, threshold: float, safety: float) -> str:
    env = recorded_env(jaxcert.sample_returns(name))
    settings: dict[str, Any] = ADAPTIVE | {"until": safety}
    runs = [certify_adaptive(env, _POLICY, jax.random.key(i), threshold, **settings) for i in KEYS]
    return f"{np.mean([int(run.num_started) for run in runs]):,.0f}"


# --- the figure ---------------------------------------------------------------------------------------------------

COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 90)
WAYS: list[tuple[str, str, dict[str, Any]]] = [
    ("the paper", "k:", PAPER),
    ("default", "C0--", {}),
    ("soft count", "C1-.", {"method": "soft"}),
]


def draw(path: str) -> None:
    """Certified safety against rollouts per task: a fixed number of them, and adaptive."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2, sharey=True), THRESHOLDS, strict=True):
        _panel(axes, name, 500.0)
    figure.axes[0].set_ylabel("certified share of new tasks")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)


def _panel(axes: Any, name: str, b: float) -> None:
    samples = orders(jaxcert.sample_returns(name))
    for label, style, settings in WAYS:
        counts = [m for m in COUNTS if m > 1 or settings is not PAPER]
        safety = [jaxcert.certify(samples[..., :m], b, **SETTINGS, **settings).safety.mean() for m in counts]
        axes.plot(counts, safety, style, label=label)
    env = recorded_env(samples[0])
    for i in range(5):
        budgets = [ADAPTIVE | {"max_rollouts": ADAPTIVE["num_tasks"] * m} for m in COUNTS[:10]]
        runs = [certify_adaptive(env, _POLICY, jax.random.key(i), b, **budget).certificate for budget in budgets]
        safety = [float(run.safety[0]) for run in runs]
        axes.plot(COUNTS[:10], safety, "C2", lw=1, label=None if i else "adaptive, 5 runs")
    axes.set(xscale="log", title=f"{name}, return of at least {b:g}", xlabel="rollouts per task (200 tasks)")
    axes.set_xlim(1, 90)
    axes.set_xticks(ticks := (1, 2, 5, 10, 20, 50), list(map(str, ticks)))
    axes.minorticks_off()
