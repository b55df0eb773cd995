"""`jaxcert demo`: a complete example on shipped or simulated data, in a minute."""

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxcert
from jaxcert.certificates import Certificate, floor_figures, floor_to
from jaxcert.cli import _console
from jaxcert.cli._options import QUIET, option
from jaxcert.cli._outputs import FORCE, check_new, write_plot, writing
from jaxcert.report import plot_certificates
from jaxcert.report.plots._axes import check_figure_path
from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world, simple_grid

NAMES = ("simple_grid", "bridge_world_left", "bridge_world_right", "cheetah", "walker")
_SEED, _DELTA, _SAFETY, _GRID = 0, 0.01, 0.9, 501
_PERFORMANCE = np.linspace(0.0, 1.0, 1001)
_EXPLANATION = (
    "Each figure is certified with confidence 0.99: on a new task from the same distribution, the expected performance "
    "is at least the threshold with probability at least the safety shown. The threshold, in the last row the share of "
    "tasks, was fixed beforehand."
)
# Certify at the thresholds of a case and of a grid, and at one safety level.
_Certified = tuple[Certificate, Certificate]


class Case(NamedTuple):
    """Returns, and arguments of `jaxcert.certify` by way."""

    name: str
    title: str
    returns: np.ndarray | jax.Array
    thresholds: tuple[float, ...]
    ways: dict[str, dict[str, Any]]
    exact: tuple[np.ndarray, np.ndarray] | None = None  # thresholds and S(B), where it is known


def load_case(name: str) -> Case:
    """One of `NAMES`: an artificial world, whose answer is known, or shipped returns of a trained policy."""
    if name == "simple_grid":
        title, thresholds = "success probability of 5 steps with random slips", (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
        return _in_world(name, title, simple_grid.ENV, simple_grid.POLICY, 250, thresholds, simple_grid.safety)
    if name.startswith("bridge_world"):
        side: Any = name.rpartition("_")[2]
        title = f"success of the policy over the {side} bridge"
        policy = bridge_world.table_policy(getattr(bridge_world, f"{side}_policy")())
        thresholds = (0.5, 0.55, 0.6, 0.65, 0.7) if side == "left" else (0.7, 0.75, 0.8, 0.85, 0.9)
        safety = functools.partial(bridge_world.safety, side=side)
        return _in_world(name, title, bridge_world.ENV, policy, 200, thresholds, safety)
    title, thresholds = f"{name}: return of 1000 steps, over tasks of random mass and size", tuple(range(200, 900, 100))
    ways = _ways((0.0, 1000.0), paper="empirical_bernstein", default="betting")
    return Case(name, title, jaxcert.sample_returns(name), thresholds, ways)


def _in_world(
    name: str, title: str, env: Any, policy: Any, num_tasks: int, thresholds: tuple[float, ...], safety: Any
) -> Case:
    key_tasks, key_rollouts = jax.random.split(jax.random.key(_SEED))
    returns = collect(env, policy, env.sample_tasks(key_tasks, num_tasks), key_rollouts, num_rollouts=1000)
    ways = _ways((0.0, 1.0), paper="clopper_pearson", default="clopper_pearson")
    return Case(name, f"{name}: {title}", returns, thresholds, ways, (_PERFORMANCE, np.asarray(safety(_PERFORMANCE))))


def _ways(support: tuple[float, float], *, paper: str, default: str) -> dict[str, dict[str, Any]]:
    common = {"support": support, "delta": _DELTA}
    return {
        "paper's method": {**common, "beta": 1e-4, "bound": paper, "method": "scenario"},
        "default": {**common, "beta": None, "bound": default, "method": "binomial"},
    }


def command(
    out: Path = option("DIR", "Folder for the plots.", default=Path("jaxcert-demo")),
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Certify an example with a known answer, then two trained policies, each in two ways."""
    files = _files(out)
    check_new(*files, force=force)
    with warnings.catch_warnings(), _console.progress(quiet) as show:
        warnings.simplefilter("ignore", UserWarning)  # about the paper's beta; the explanation mentions it
        found = [(case, _certified(case, show)) for case in map(load_case, NAMES)]
        show("drawing")
        figures = [_figure(*each) for each in found]
    out.mkdir(exist_ok=True)
    with writing() as write:
        for file, figure in zip(files, figures, strict=True):
            write(write_plot, file, figure, replace=force)
        for each in found:
            _print(*each)
        _console.say(_EXPLANATION, *([] if quiet else [f"plot: {file}" for file in files]))


def _files(out: Path) -> list[Path]:
    """The files of the plots; raises beforehand if they cannot be written."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out}: is not a folder, expected one for the plots")
    for name in NAMES:
        check_figure_path((out if out.exists() else out.parent) / f"{name}.png")
    return [out / f"{name}.png" for name in NAMES]


def _certified(case: Case, show: Callable[[str], Any]) -> dict[str, _Certified]:
    results = {}
    for label, settings in case.ways.items():
        show(f"certifying {case.name}: {label}")
        low, high = settings["support"]
        thresholds = np.concatenate([case.thresholds, np.linspace(low, high, _GRID)])
        at_thresholds = jaxcert.certify(case.returns, thresholds, **settings)
        results[label] = at_thresholds, jaxcert.certify_safety_level(case.returns, _SAFETY, **settings)
    return results


def _figure(case: Case, results: dict[str, _Certified]) -> Any:
    curves = {label: certificates[0] for label, certificates in results.items()}
    return plot_certificates(curves, exact=case.exact, title=f"{case.name}, {len(case.returns)} tasks")


def _print(case: Case, results: dict[str, _Certified]) -> None:
    n, m = case.returns.shape
    ways = [f"  {label}: {_console.way(at_thresholds)}" for label, (at_thresholds, _) in results.items()]
    _console.say(f"{case.title}; {n} tasks, {m} rollouts each", *ways)
    _console.show_table(_console.plain_table(_columns(case, results)))


def _columns(case: Case, results: dict[str, _Certified]) -> dict[str, list[str]]:
    """Safety at the case's thresholds, and in the last row the performance at the safety level."""
    columns = {"threshold": [*map(_console.as_given, case.thresholds), f"on {_SAFETY:.0%} of tasks"]}
    if case.exact is not None:
        performance, safety = case.exact
        at = [*np.interp(case.thresholds, performance, safety), np.interp(-_SAFETY, -safety, performance)]
        columns["exact"] = [f"{value:.4f}" for value in at]
    for label, (at_thresholds, at_safety) in results.items():
        found = np.asarray(at_thresholds.safety)[: len(case.thresholds)]
        columns[label] = [
            *(floor_to(float(value), 4) for value in found),
            *map(floor_figures, at_safety.thresholds.tolist()),
        ]
    return columns
