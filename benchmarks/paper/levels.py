"""The ablation of beta and delta (figures 7 to 9): the certified safety of cheetah, walker and zones at all thresholds.

The curves are those of the paper's certificate at the pairs (beta, delta) of the authors' files, beside the default's.
More betas say which of them certifies the most, on average over thresholds from one end of the support to the other.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._common import markdown
from benchmarks.paper.curves import DEFAULT_BETA, DELTA, certificates
from benchmarks.paper.domains import Domain, domain, orders
from benchmarks.paper.experiment import Experiment, Findings, grid

DOMAINS = ("cheetah", "walker", "zones")
BUDGETS = ((50, 100), (100, 100), (200, 50), (200, 100))
PAPER_BUDGETS = ((50, 100), (100, 300), (200, 300), (200, 1000))
PAIRS = (*((beta, 1e-2) for beta in (1e-2, 1e-3, 1e-4, 1e-6)), (1e-4, 0.1), (1e-6, 0.1), (1e-5, 1e-3), (1e-6, 1e-3))
BETAS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
DELTAS = (1e-3, 0.01, 0.1)
STYLES = dict(zip(DELTAS, ("--", "-", ":"), strict=True))
PAPER, DEFAULT = "the paper", "default"


class Panel(NamedTuple):
    """A domain with all its returns, a budget (n, m), and the safety by (way, beta, delta), [seeds, t]."""

    name: str
    domain: Domain
    budget: tuple[int, int]
    safety: dict[tuple[str, float, float], np.ndarray]

    def curve(self, *key: Any) -> np.ndarray:
        """The certified safety, [t]: the mean over orders."""
        return self.safety[key].mean(axis=0)

    def mean(self, *key: Any) -> float:
        """And over thresholds."""
        return float(self.curve(*key).mean())

    def best(self, way: str, delta: float) -> float:
        """The beta with the largest mean."""
        betas = (beta for each, beta, level in self.safety if (each, level) == (way, delta))
        return max(betas, key=lambda beta: self.mean(way, beta, delta))

    @property
    def size(self) -> str:
        """In words."""
        return f"{self.budget[0]} × {self.budget[1]}"


def ways(binary: bool) -> dict[str, tuple[str, str]]:
    """Bound and method."""
    bound, default = ("clopper_pearson",) * 2 if binary else ("empirical_bernstein", "betting")
    between = {} if binary else {"empirical Bernstein, binomial": (bound, "binomial")}
    return {PAPER: (bound, "scenario"), **between, DEFAULT: (default, "binomial")}


def guideline(delta: float, num_tasks: int) -> float:
    """delta / n, to so many digits that equal levels are equal numbers."""
    return float(f"{delta / num_tasks:.6g}")


def panels(name: str, budgets: tuple[tuple[int, int], ...]) -> list[Panel]:
    found = domain(name, max(m for _, m in budgets))
    budgets = tuple(dict.fromkeys(map(found.first_of, budgets)))
    betas = sorted({*BETAS, *(guideline(delta, n) for delta in DELTAS for n, _ in budgets)})
    levels = itertools.product(ways(found.binary).items(), betas, DELTAS)
    asked = {(way, beta, delta): (*how, beta, delta) for (way, how), beta, delta in levels}
    safety = certificates(orders(found.returns), budgets, asked, found.thresholds, found.support)
    return [Panel(name, found, *each) for each in zip(budgets, safety, strict=True)]


def run(full: bool) -> Findings:
    """The robots at the size of the samples; zones with the paper's number of rollouts, or a tenth."""
    found = [one for name in DOMAINS for one in panels(name, PAPER_BUDGETS if full and name == "zones" else BUDGETS)]
    curves = [f"beta {beta:g}, delta {delta:g}" for beta, delta in PAIRS]
    columns = ("domain", "n", "m", "threshold", "share_of_tasks", *curves, f"default, delta {DELTA:g}")
    return Findings([*_by_beta(found), *_guideline(found), *_above(found)], columns, _rows(found), _figure(found))


def _rows(found: list[Panel]) -> Iterator[tuple[Any, ...]]:
    """The curves of the figure, a row per threshold."""
    for one in found:
        curves = [*(one.curve(PAPER, *pair) for pair in PAIRS), one.curve(DEFAULT, DEFAULT_BETA, DELTA)]
        yield from one.domain.rows(one.name, one.budget, curves)


def _by_beta(found: list[Panel]) -> list[str]:
    pairs = [(one, way) for one in found for way in dict.fromkeys(way for way, *_ in one.safety)]
    rows = [(one.name, one.size, way, *(one.mean(way, beta, DELTA) for beta in BETAS)) for one, way in pairs]
    title = f"certified safety by beta, the mean over thresholds; delta = {DELTA:g}"
    return [title, *markdown(("domain", "n × m", "way", *(f"{beta:g}" for beta in BETAS)), rows)]


def _guideline(found: list[Panel]) -> list[str]:
    """How near delta / n comes to the best beta, for the paper's certificate."""
    rows = []
    for one in found:
        for delta in DELTAS:
            betas = guideline(delta, one.budget[0]), one.best(PAPER, delta)
            means = (one.mean(PAPER, beta, delta) for beta in betas)
            rows.append((one.name, one.size, f"{delta:g}", *(f"{beta:g}" for beta in betas), *means))
    columns = ("domain", "n × m", "delta", "delta / n", "best beta", "at delta / n", "at the best")
    return ["the paper's certificate at beta = delta / n and at the best beta", *markdown(columns, rows)]


def _above(found: list[Panel]) -> Iterator[str]:
    """How many curves, of all orders, ways and betas, come above the share of all tasks somewhere."""
    for delta in DELTAS:
        each = ((one, safety) for one in found for key, safety in one.safety.items() if key[2] == delta)
        above = np.concatenate([np.any(safety > one.domain.share + 1e-6, axis=-1) for one, safety in each])
        yield f"delta = {delta:g}: {above.sum()} of {above.size} curves above the share of all tasks"


def _figure(found: list[Panel]) -> Any:
    """One panel per domain and budget, one line per pair: its beta is a colour, its delta a kind of line."""
    columns = len(found) // len(DOMAINS)
    size = 3.1 * columns, 2.75 * len(DOMAINS) + 0.6
    return grid(found, _draw, columns, size, "certified safety", sharex="row", sharey=True)


def _draw(axes: Any, one: Panel) -> None:
    from matplotlib import colormaps

    betas = sorted({beta for beta, _ in PAIRS}, reverse=True)
    colours = dict(zip(betas, colormaps["viridis"](np.linspace(0.85, 0, len(betas))), strict=True))
    label = f"default, β = {DEFAULT_BETA:g}, δ = {DELTA:g}"
    curves = [(one.curve(DEFAULT, DEFAULT_BETA, DELTA), {"color": "#d55e00", "linewidth": 1.8, "label": label})]
    for beta, delta in PAIRS:
        label = f"the paper, β = {beta:g}, δ = {delta:g}"
        style = {"linestyle": STYLES[delta], "color": colours[beta], "linewidth": 1.2, "label": label}
        curves.append((one.curve(PAPER, beta, delta), style))
    one.domain.draw(axes, one.name, one.budget, curves)


EXPERIMENT = Experiment("levels", "figures 7 to 9, the ablation of beta and delta: cheetah, walker, zones", run)
