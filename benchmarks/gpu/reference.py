"""Exact values to compare a device with, where there is no interval arithmetic.

``reference.csv`` beside this file holds them, each as a sum of two float64, good to 2**-100: arguments are numbers of
float32, so that one table serves both precisions. ``python -m benchmarks.gpu.reference`` writes it again; that alone
needs python-flint, and the oracles of the tests.
"""

import csv
import importlib.util
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TABLE = Path(__file__).with_name("reference.csv")
NUM_CASES = 250
SUPPORTS = ((0.0, 1.0), (-4.0, 4.0))
BOUNDS = ("hoeffding", "empirical_bernstein", "dkw", "betting")
SIZES = (2, 5, 33, 100, 1000)


class Case(NamedTuple):
    """A function, its arguments, and its exact value."""

    function: str
    arguments: tuple[float, ...]
    exact: Fraction


def read() -> dict[str, list[Case]]:
    """The cases of each function."""
    cases: dict[str, list[Case]] = {}
    with TABLE.open() as file:
        for name, *numbers in csv.reader(file):
            *arguments, high, low = map(float.fromhex, numbers)
            cases.setdefault(name, []).append(Case(name, tuple(arguments), Fraction(high) + Fraction(low)))
    return cases


def returns(m: int, kind: int, support: tuple[float, float]) -> np.ndarray:
    """Returns of one task, [m]: multiples of 2**-10 of the width, spread out, close together or at the ends."""
    step = (np.arange(m) * 7919 + 13 * kind) % 1025
    share = (step, 900 + step % 100, np.where(step < 600, 1024, 0))[kind] / 1024
    return (support[0] + share * (support[1] - support[0])).astype(np.float32)


# --- writing the table ------------------------------------------------------------------------------------------------


def write() -> None:
    """Compute every value by interval arithmetic."""
    rows = [[name, *map(float.hex, map(float, arguments)), *_two_floats(value)] for name, arguments, value in _all()]
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _all() -> Iterator[tuple[str, tuple, Any]]:
    from benchmarks.exact import exact, lower_tail, upper_tail

    rng = np.random.default_rng(0)
    for k, n, level, beta in _problems(rng):
        upper, lower = _limit(k, n, exact(level)), _limit(n - k, n, exact(level))
        if upper is None or lower is None:
            continue
        yield "clopper_pearson_upper", (k, n, level), upper
        yield "clopper_pearson_lower", (k, n, level), 1 - lower
        yield "binomial_epsilon", (k, n, beta, level), (upper / (1 - exact(beta))).min(exact(1))
        p = float(np.float32(float(upper)))
        if 0 < p < 1 and k < n:
            yield "binomial_cdf", (k, n, p), lower_tail(k, n, exact(p))
            yield "binomial_sf", (k, n, p), upper_tail(k, n, exact(p))
        if k < n and n <= 20_000:
            best = _scenario(k, n, beta, level)
            if best is not None:
                yield "scenario_epsilon", (k, n, beta, level), best
    yield from _functions(rng)
    yield from _bounds()


def _problems(rng: np.random.Generator) -> Iterator[tuple[int, int, float, float]]:
    """(k, n, level, beta) as the accuracy benchmark draws them."""
    from benchmarks.accuracy import draw

    for trials in ((1, 100), (100, 10_000), (10_000, 1_000_000)):
        for depth in ((1e-15, 1e-5), (1e-5, 0.5), (0.5, 0.999)):
            sample = draw(rng, NUM_CASES // 9, trials, depth, np.dtype(np.float32))
            yield from zip(*(column.tolist() for column in sample), strict=True)


def _limit(k: int, n: int, level: Any) -> Any:
    """U(k; n, level): Newton's method from the float64 value; to 2**-100, by the signs at both ends. None next to 1."""
    from flint import arb

    from benchmarks.exact import density, lower_tail
    from jaxcert.numerics import clopper_pearson_upper

    if k >= n:
        return arb(1)
    p = arb(float(clopper_pearson_upper(k, n, float(level))))
    for _ in range(4):
        if not (p > 0 and p < 1):
            return None
        p = arb((p + (lower_tail(k, n, p) - level) / density(k, n, p)).mid())
    room = arb(2) ** -105 * (1 - p).min(p)
    assert lower_tail(k, n, p - room) > level > lower_tail(k, n, p + room), (k, n, level)
    return p


def _scenario(k: int, n: int, beta: float, delta: float) -> Any:
    """The smallest solution over K, looked for around the one that float64 finds; 1 if there is none."""
    from flint import arb

    from benchmarks.exact import exact, upper_tail
    from jaxcert import scenario_epsilon

    found = scenario_epsilon(k, n, beta, delta)
    if not bool(found.feasible):
        return arb(1)
    spare = n - k - int(found.num_valid)
    share, near = exact(delta) / (n + 1), range(max(0, spare - 3), spare + 4)
    levels = {j: share - upper_tail(j, n - k, exact(beta)) for j in near}
    limits = [_limit(k + j, n, t) for j, t in levels.items() if k + j < n and t > 0]
    return None if None in limits else min(limits, key=float)


def _functions(rng: np.random.Generator) -> Iterator[tuple[str, tuple, Any]]:
    from benchmarks.exact import exact

    ranges = (("exp", -80, 80), ("expm1", -2, 2), ("log", -80, 80), ("log1p", -0.99, 3), ("log1p", 0.2, 0.5))
    for name, low, high in ranges:
        points = rng.uniform(low, high, NUM_CASES)
        for x in (np.exp(points) if name == "log" else points).astype(np.float32).tolist():
            yield name, (x,), getattr(exact(x), name)()


def _bounds() -> Iterator[tuple[str, tuple, Any]]:
    """By the definitions that the tests of the bounds use."""
    path = Path(__file__).parents[2] / "tests" / "bounds" / "exact_bounds.py"
    spec = importlib.util.spec_from_file_location("exact_bounds", path)
    assert spec is not None
    assert spec.loader is not None
    oracles = sys.modules["exact_bounds"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracles)
    for name in BOUNDS:
        for m in SIZES:
            for kind in range(3):
                for place, support in enumerate(SUPPORTS):
                    beta = float(np.float32((0.05, 1e-4, 0.5)[(kind + m) % 3]))
                    sample = oracles.Sample.of(returns(m, kind, support), *support)
                    value = oracles.CASES[name].oracle(sample, beta) + support[0]
                    yield name, (m, kind, place, beta), value


def _two_floats(value: Any) -> list[str]:
    high = float(value)
    return [high.hex(), float(value - high).hex()]


if __name__ == "__main__":
    import jax

    with jax.enable_x64(True):
        write()
