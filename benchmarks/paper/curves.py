"""Certified safety over thresholds for several seeds: the settings of the paper, rows, pictures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.paper.experiment import Findings, grid
from jaxcert import certify_adaptive
from jaxcert.rollouts import MultiTaskEnv, Policy, collect
from jaxcert.sweep import Grid, sweep

THRESHOLDS = np.linspace(0.0, 1.0, 101)
# Fixed beforehand.
SEEDS = range(10)
DELTA, PAPER_BETA, DEFAULT_BETA = 0.01, 1e-4, 0.05


class Curve(NamedTuple):
    """One method in one experiment: its safety [seeds, t], beside S(B), or that of an evaluation set, [t]."""

    experiment: str
    method: str
    safety: np.ndarray
    exact: np.ndarray
    thresholds: np.ndarray = THRESHOLDS

    @property
    def mean(self) -> np.ndarray:
        """Over seeds."""
        return self.safety.mean(axis=0)

    @property
    def std(self) -> np.ndarray:
        """Over seeds."""
        return self.safety.std(axis=0, ddof=1)

    @property
    def gap(self) -> float:
        """Mean distance between the exact and the certified safety, over thresholds and seeds."""
        return float(np.mean(self.exact - self.mean))

    @property
    def above(self) -> int:
        """Seeds in which some certificate lies above the exact safety."""
        return int(np.sum(np.any(self.safety > self.exact + 1e-6, axis=1)))


def empirical(returns: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """The share of tasks whose mean return is at least B: [seeds, n, m] to [seeds, t]. Not a certificate."""
    means = np.asarray(returns).mean(axis=-1)
    return (means[:, :, None] >= thresholds).mean(axis=1)


def drawn(env: MultiTaskEnv, policy: Policy, seed: int, num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Returns [n, m] on fresh tasks."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(seed))
    tasks = env.sample_tasks(key_tasks, num_tasks)
    return np.asarray(collect(env, policy, tasks, key_rollouts, num_rollouts=num_rollouts))


Ways = Mapping[Any, tuple[str, str, float] | tuple[str, str, float, float]]  # by name: bound, method, beta, any delta
# For returns of 0 and 1.
BINARY: Ways = {
    f"scenario, beta {PAPER_BETA:g} (the paper)": ("clopper_pearson", "scenario", PAPER_BETA),
    f"binomial, beta {PAPER_BETA:g}": ("clopper_pearson", "binomial", PAPER_BETA),
    f"binomial, beta {DEFAULT_BETA:g} (default)": ("clopper_pearson", "binomial", DEFAULT_BETA),
}


def certificates(
    returns: np.ndarray,
    budgets: Sequence[tuple[int, int]],
    ways: Ways = BINARY,
    thresholds: np.ndarray = THRESHOLDS,
    support: tuple[float, float] = (0.0, 1.0),
) -> list[dict[Any, np.ndarray]]:
    """For each (n, m), from the first tasks and rollouts: [seeds, t] by way; all in one sweep."""
    each = {name: (*way, DELTA)[:4] for name, way in ways.items()}
    axes = [tuple(dict.fromkeys(axis)) for axis in zip(*each.values(), strict=True)]
    names = ("bounds", "methods", "betas", "deltas")
    wanted = Grid(thresholds, budgets=budgets, **dict(zip(names, axes, strict=True)))
    safety = sweep(returns, wanted, support=support).safety
    places = {name: [axis.index(x) for axis, x in zip(axes, way, strict=True)] for name, way in each.items()}
    return [{name: safety[:, i, *place] for name, place in places.items()} for i in range(len(budgets))]


def panel(
    experiment: str,
    returns: np.ndarray,
    certified: dict[str, np.ndarray],
    exact: np.ndarray,
    thresholds: np.ndarray = THRESHOLDS,
) -> list[Curve]:
    """The share of tasks with their averages, and each way to certify."""
    methods = {"empirical": empirical(returns, thresholds), **certified}
    return [Curve(experiment, name, safety, exact, thresholds) for name, safety in methods.items()]


def by_budget(
    returns: np.ndarray,
    budgets: Sequence[tuple[int, int]],
    exact: np.ndarray,
    *,
    title: str = "",
    more: Callable[[np.ndarray], dict[str, np.ndarray]] = lambda first: {},
    thresholds: np.ndarray = THRESHOLDS,
    **settings: Any,
) -> Iterator[list[Curve]]:
    """One panel per budget, of the first tasks and rollouts of each seed."""
    found = certificates(returns, budgets, thresholds=thresholds, **settings)
    for (n, m), certified in zip(budgets, found, strict=True):
        first = returns[:, :n, :m]
        yield panel(f"{title}n = {n}, m = {m}", first, certified | more(first), exact, thresholds)


def adaptive(
    env: MultiTaskEnv, policy: Policy, thresholds: Sequence[float], seeds: Sequence[int], budget: tuple[int, int]
) -> Iterator[str]:
    """What as many rollouts of 0 or 1 certify as each of the n tasks needs, at most m; a line per threshold."""
    num_tasks, most = budget
    for b in thresholds:
        settings: dict[str, Any] = {"num_tasks": num_tasks, "max_rollouts": num_tasks * most, "delta": DELTA}
        settings |= {"max_rollouts_per_task": most, "binary": True}
        runs = [certify_adaptive(env, policy, _fresh(seed), b, **settings) for seed in seeds]
        safety = np.mean([float(one.certificate.safety[0]) for one in runs])
        spent = np.mean([int(one.num_started) for one in runs]) / num_tasks
        yield f"{num_tasks} tasks, B = {b:g}: adaptive rollouts certify {safety:.3f} with {spent:.0f} per task"


def _fresh(seed: int) -> jax.Array:
    """A key that the curves do not use."""
    return jax.random.fold_in(jax.random.key(seed), 1)


def findings(panels: Iterable[list[Curve]], lines: Iterable[str] = ()) -> Findings:
    """A line per curve, then others; all curves as rows; a panel per experiment."""
    drawn = list(panels)
    curves = [curve for panel in drawn for curve in panel]
    columns = ("experiment", "method", "threshold", "exact", "mean", "std")
    return Findings([*map(summary, curves), *lines], columns, rows(curves), figure(drawn))


def summary(curve: Curve) -> str:
    return f"{curve.experiment:34}{curve.method:66}gap {curve.gap:.4f}  seeds above the exact safety: {curve.above}"


def rows(curves: Iterable[Curve]) -> Iterator[tuple[Any, ...]]:
    for curve in curves:
        for numbers in zip(curve.thresholds, curve.exact, curve.mean, curve.std, strict=True):
            yield curve.experiment, curve.method, *map(float, numbers)


def figure(panels: Sequence[Sequence[Curve]]) -> Any:
    """One panel per experiment: the mean of each method with a band of one standard deviation, and the exact safety."""
    size = 10, 3.6 * -(-len(panels) // 2)
    return grid(panels, _panel, 2, size, "safety", ncols=2, sharey=True)


def _panel(place: Any, curves: Sequence[Curve]) -> None:
    x = curves[0].thresholds
    place.plot(x, curves[0].exact, color="black", linewidth=1.2, label="exact safety, or of an evaluation set")
    for curve in curves:
        style = {"linestyle": ":"} if curve.method == "empirical" else {}
        (line,) = place.plot(x, curve.mean, label=curve.method, linewidth=1, **style)
        low, high = np.clip([curve.mean - curve.std, curve.mean + curve.std], 0, 1)
        place.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    place.set_title(curves[0].experiment, fontsize=9)
    place.set_xlabel("threshold B")
