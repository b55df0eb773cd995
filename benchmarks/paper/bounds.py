"""The comparison of bounds (figures 10 and 11): all bounds on the same returns, at several numbers of rollouts.

With the paper's certificate and with the default one, the certified safety at all thresholds, and the return certified
on 90 % of new tasks; means over ten orders of tasks and rollouts, of which a number of rollouts takes the first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import markdown
from benchmarks.paper.curves import DEFAULT_BETA, DELTA, PAPER_BETA, certificates
from benchmarks.paper.domains import NUM_TASKS, ROBOTS, Domain, domain, orders
from benchmarks.paper.experiment import Experiment, Findings, grid
from jaxcert import certify_safety_level

WANTED = 0.9
DOMAINS = (*ROBOTS, "zones", "BridgeWorld, right")
ROLLOUTS, PAPER_ROLLOUTS = (20, 50, 100), (100, 300, 1000)
METHODS = {"scenario": (PAPER_BETA, "--"), "binomial": (DEFAULT_BETA, "-")}
# Names and colours that the colour-blind can tell apart (Okabe and Ito).
BOUNDS = {
    "empirical_bernstein": ("empirical Bernstein", "#0072b2"),
    "hoeffding": ("Hoeffding", "#e69f00"),
    "dkw": ("DKW", "#cc79a7"),
    "betting": ("betting", "#009e73"),
    "clopper_pearson": ("Clopper-Pearson", "#d55e00"),
}
WAYS = [(bound, method) for method in METHODS for bound in BOUNDS]


class Panel(NamedTuple):
    """A domain with all its returns, a budget (n, m), and by bound and method the safety [t] and the level."""

    name: str
    domain: Domain
    budget: tuple[int, int]
    safety: dict[tuple[str, str], np.ndarray]
    levels: dict[tuple[str, str], float]


def panels(name: str, rollouts: tuple[int, ...]) -> Iterator[Panel]:
    """All numbers of rollouts of a domain: the curves from one sweep."""
    found = domain(name, max(rollouts))
    ways = [(bound, method) for bound, method in WAYS if found.binary or bound != "clopper_pearson"]
    budgets, returns = [found.first_of((NUM_TASKS, m)) for m in rollouts], orders(found.returns)
    asked = {(bound, method): (bound, method, METHODS[method][0]) for bound, method in ways}
    safety = certificates(returns, budgets, asked, found.thresholds, found.support)
    levels = {way: _levels(returns, [m for _, m in budgets], found.support, *way) for way in ways}
    for i, budget in enumerate(budgets):
        curves = {way: each.mean(axis=0) for way, each in safety[i].items()}
        yield Panel(name, found, budget, curves, {way: float(level[i]) for way, level in levels.items()})


def _levels(
    returns: np.ndarray, rollouts: list[int], support: tuple[float, float], bound: str, method: str
) -> np.ndarray:
    """The return certified on 90 % of new tasks from the first rollouts, of each of these numbers; all in one call."""
    first = np.arange(returns.shape[-1]) < np.reshape(rollouts, (-1, 1, 1, 1))
    shape = (len(rollouts), *returns.shape)
    given, where = np.broadcast_to(returns, shape), np.broadcast_to(first, shape)
    settings: dict[str, Any] = {"support": support, "delta": DELTA, "beta": METHODS[method][0]}
    found = certify_safety_level(given, WANTED, where=where, bound=bound, method=method, **settings)
    return np.asarray(found.thresholds)[..., 0].mean(axis=1)


def run(full: bool) -> Findings:
    """The robots and few rollouts from the samples; with the paper's numbers of rollouts where returns are 0 or 1."""
    found = [one for name in DOMAINS for one in panels(name, _rollouts(name, full))]
    ways = [f"{BOUNDS[bound][0]}, {method}" for bound, method in WAYS]
    columns = ("domain", "n", "m", "threshold", "share_of_tasks", *ways)
    lines = [line for one in found for line in _table(one)]
    return Findings(lines, columns, _rows(found), _figure(found))


def _rollouts(name: str, full: bool) -> tuple[int, ...]:
    return PAPER_ROLLOUTS if full and name not in ROBOTS else ROLLOUTS


def _rows(found: list[Panel]) -> Iterator[tuple[Any, ...]]:
    """The curves of the figure, a row per threshold; a bound that the returns do not allow has no number."""
    for one in found:
        curves = [one.safety.get(way, [""] * len(one.domain.thresholds)) for way in WAYS]
        yield from one.domain.rows(one.name, one.budget, curves)


def _table(one: Panel) -> list[str]:
    b = one.domain.threshold
    nearest = int(np.argmin(abs(one.domain.thresholds - b)))
    rows = [
        (BOUNDS[bound][0], method, f"{METHODS[method][0]:g}", float(safety[nearest]), one.levels[bound, method])
        for (bound, method), safety in one.safety.items()
    ]
    title = "{}, {} × {}, delta = {:g}".format(one.name, *one.budget, DELTA)
    columns = ("bound", "method", "beta", f"safety at {b:g}", f"return on {100 * WANTED:g} %")
    return [title, *markdown(columns, rows)]


def _figure(found: list[Panel]) -> Any:
    """One panel per domain and number of rollouts; a bound is a colour, a method a kind of line."""
    columns = len(found) // len(DOMAINS)
    size = 3.6 * columns, 2.75 * len(DOMAINS) + 0.8
    shown = {"of_legend": -columns, "ncols": 2, "sharex": "row", "sharey": True}
    return grid(found, _draw, columns, size, "certified safety", **shown)


def _draw(axes: Any, one: Panel) -> None:
    curves = []
    for (bound, method), safety in one.safety.items():
        (label, colour), (beta, style) = BOUNDS[bound], METHODS[method]
        label = f"{label}, {method}, β = {beta:g}"
        curves.append((safety, {"linestyle": style, "color": colour, "linewidth": 1.2, "label": label}))
    one.domain.draw(axes, one.name, one.budget, curves)


EXPERIMENT = Experiment("bounds", "figures 10 and 11, the comparison of bounds: robots, zones, BridgeWorld", run)
