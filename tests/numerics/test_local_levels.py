"""How delta is divided among counts and levels: in exact arithmetic, by enumeration, against a table."""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.exact import exact, lower_tail
from jaxcert import certify_lower_bounds_band
from jaxcert.numerics import _calibration
from jaxcert.numerics._calibration import LeastFavourable, calibrated, local_level
from jaxcert.numerics._crossing import Crossing, log_factorials


def boundary(n: int, delta: float) -> np.ndarray:
    """u_0, ..., u_(n-1) as a certificate of known performances reports them."""
    return np.asarray(certify_lower_bounds_band(np.arange(float(n)), None, delta=delta, beta=0.0).epsilon, float)


LONG = [(400, 0.01), (400, 0.2), (250, 1e-12), (250, 0.9)]
BANDS = [(1, 0.1), (2, 0.3), (10, 0.05), (50, 1e-6), (50, 0.5), (200, 0.01), (60, 0.3)]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(("n", "delta"), [*BANDS, *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG)])
def test_the_band_is_crossed_with_delta_and_no_more(n, delta):
    ends = boundary(n, delta)
    crossed = oracles.crossing_probability(n, ends)
    assert exact(delta) - exact(1e-6) <= crossed
    assert crossed <= exact(delta)


@pytest.mark.parametrize(("n", "delta"), [(1, 0.6), (7, 0.8), (30, 0.2), (80, 0.01)])
def test_it_is_crossed_no_more_often_than_delta(precision, n, delta):
    assert oracles.crossing_probability(n, boundary(n, delta)) <= exact(delta)


@pytest.mark.parametrize(("n", "delta", "level"), oracles.level_table())
def test_levels_of_the_table(n, delta, level):
    assert local_level(n, delta) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("level", [1e-30, 1e-4, 0.3, 0.99])
@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_the_boundary_is_at_most_the_limits(n, level):
    k = np.arange(n)
    q = Crossing(n, 0.5).boundary(k, level)
    for count, end in zip(k.tolist(), q.tolist(), strict=True):
        tail = lower_tail(count, n, 1 - exact(end))
        assert tail >= exact(level)
        assert tail <= exact(level * (1 + 1e-6))


@settings(max_examples=40)
@given(st.integers(1, 80), st.floats(1e-20, 0.99))
def test_it_is_between_the_union_bound_and_delta(n, delta):
    level = local_level(n, delta)
    assert delta / n * (1 - 1e-15) <= level <= delta
    assert local_level(n, delta / 2) < level
    assert local_level(1, delta) == pytest.approx(delta, rel=1e-6)


def test_groups_of_counts_lose_little(monkeypatch):
    whole = local_level(3000, 0.01)
    monkeypatch.setattr(_calibration, "_SINGLE_STEPS", 100)
    monkeypatch.setattr(_calibration, "_STANDARD_DEVIATIONS", 0.1)
    assert 0.8 * whole < local_level.__wrapped__(3000, 0.01) < whole


@pytest.mark.parametrize(("n", "delta"), [(10, 1e-200), (10, 0.9999), (100_001, 0.01)])
def test_what_is_not_calibrated_falls_back_to_the_union_bound(n, delta):
    assert local_level(n, delta) == np.nextafter(delta / n, 0)


BETAS = (3 / 64, 1 / 4, 5 / 8)  # of ``certify(beta="auto")``
FIVE = (0.01, 0.05, 0.2, 0.5, 0.8)


def enumerated_failure(n: int, betas: tuple[float, ...], level: Fraction, c: Fraction) -> Fraction:
    """P[some level has a certificate below c] by all ways to distribute n tasks, in exact fractions."""
    share = [Fraction(1) - Fraction(beta) for beta in betas]
    passed = [1 - c * share[0], *(c * (a - b) for a, b in itertools.pairwise(share)), c * share[-1]]
    most = [max([k for k in range(n) if exact_cdf(k, n, c * s) < level], default=-1) for s in share]
    total = Fraction(0)
    for counts in itertools.product(range(n + 1), repeat=len(passed)):
        if sum(counts) == n:
            violations = [sum(counts[g + 1 :]) for g in range(len(betas))]
            if any(k <= a for k, a in zip(violations, most, strict=True)):
                ways = math.factorial(n) // math.prod(map(math.factorial, counts))
                total += ways * math.prod(q**d for q, d in zip(passed, counts, strict=True))
    return total


@functools.cache
def exact_cdf(k: int, n: int, p: Fraction) -> Fraction:
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)), start=Fraction(0))


def worst_failure(n: int, betas: tuple[float, ...], level: float, most: float = 1.0) -> tuple[float, float]:
    """The largest failure probability over all nodes up to ``most``, and where: a dense backward recursion."""
    k, share = np.arange(n + 1), 1 - np.array(betas)
    limits = np.where(k < n, stats.beta.ppf(1 - level, k + 1, np.maximum(n - k, 1)), 1.0)
    nodes = np.unique((limits[:, None] / share).ravel())
    nodes = np.append(0.0, nodes[nodes <= most])
    last = [np.searchsorted(limits, nodes * s * (1 + 1e-12), side="right") - 1 for s in share]
    value = (k <= last[-1][:, None]).astype(float)
    for g in range(len(betas) - 2, -1, -1):
        stays = stats.binom.pmf(k[None, :], k[:, None], share[g + 1] / share[g])
        value = np.where(k <= last[g][:, None], 1.0, value @ stays.T)
    failure = (stats.binom.pmf(k, n, nodes[:, None] * share[0]) * value).sum(axis=1)
    return float(failure.max()), float(nodes[failure.argmax()])


@pytest.mark.parametrize("betas", [BETAS, (0.3, 0.9)])
@pytest.mark.parametrize(("n", "delta"), [(1, 0.9), (3, 0.5), (5, 0.3)])
def test_enumeration_never_finds_more_than_delta(n, delta, betas):
    level, rng = Fraction(calibrated(n, delta, betas)), np.random.default_rng(n)
    nodes = [stats.beta.ppf(1 - float(level), k + 1, n - k) / (1 - b) for k in range(n) for b in betas]
    close = [c * (1 + 1e-9) for c in nodes if c * (1 + 1e-9) <= 1]
    found = [enumerated_failure(n, betas, level, Fraction(float(c))) for c in [*close, *rng.random(3), 1.0]]
    assert max(found) <= Fraction(delta)
    assert not close or max(found) >= 0.98 * delta or level > 0.98 * delta


@pytest.mark.parametrize("c", [0.2, 0.7, 0.99])
def test_the_recursion_is_at_least_the_enumerated_probability(c):
    world, level = LeastFavourable(5, 0.3, BETAS), 0.2
    exact = float(enumerated_failure(5, BETAS, Fraction(level), Fraction(c)))
    assert exact <= world.failure(c, world.most(c, level)) <= exact * (1 + 1e-9) + 1.01e-5 * 0.3


@pytest.mark.parametrize(("n", "delta"), [(10, 0.1), (50, 0.01), (200, 0.01), (200, 1e-6), (400, 0.2)])
def test_the_worst_node_fails_with_delta_and_no_more(n, delta):
    level = calibrated(n, delta, BETAS)
    assert worst_failure(n, BETAS, level)[0] <= delta * (1 + 1e-9)
    assert worst_failure(n, BETAS, 1.02 * level)[0] > delta


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_other_levels_deltas_and_numbers_of_tasks(seed):
    rng = np.random.default_rng(seed)
    n, delta = int(np.exp(rng.uniform(0, np.log(500)))), float(rng.choice([10 ** rng.uniform(-8, -0.3), rng.random()]))
    betas = tuple(sorted(rng.choice(np.arange(1, 64), rng.integers(2, 6), replace=False) / 64))
    level = calibrated(n, delta, betas)
    assert worst_failure(n, betas, level)[0] <= delta * (1 + 1e-8)
    assert level > 0.98 * delta or worst_failure(n, betas, 1.021 * level)[0] > delta


@pytest.mark.parametrize("betas", [BETAS, FIVE, (0.5,)])
def test_between_the_union_bound_and_delta(betas):
    for n, delta in itertools.product((1, 2, 7, 30, 10_001, 10**6), (1e-250, 1e-30, 1e-3, 0.5, 1 - 2**-24)):
        level = calibrated(n, delta, betas)
        assert delta / len(betas) * (1 - 1e-15) <= level < delta


def test_what_cannot_be_shown_falls_back_to_the_union_bound(monkeypatch):
    monkeypatch.setattr(_calibration, "_MOST_INTERVALS", 1)
    assert calibrated.__wrapped__(90, 0.01, BETAS) == math.nextafter(0.01 / 3, 0)


def test_log_factorials():
    found = log_factorials(10_000)
    with mpmath.workdps(30):
        wanted = [float(mpmath.loggamma(i + 1)) for i in (0, 1, 2, 169, 170, 171, 172, 1000, 10_000)]
    np.testing.assert_allclose(found[[0, 1, 2, 169, 170, 171, 172, 1000, 10_000]], wanted, rtol=4e-16, atol=1e-14)
    assert log_factorials(3).shape == (4,)
