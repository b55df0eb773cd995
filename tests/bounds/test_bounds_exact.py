"""Computed bounds against the exact ones for the same floats: never above, and close."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exact_bounds import CASES, Case, Sample, betting, betting_as_defined, rational
from flint import arb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxcert import bounds

SUPPORTS = [(0, 1000), (-5, 3), (0, 1e-3), (1e6, 1e6 + 1), (0, 1e-30), (0.1, 0.7)]
BETAS = [1e-12, 1e-6, 1e-4, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999]
MAIN = ("hoeffding", "empirical_bernstein", "dkw", "betting")
SIZES = (1, 2, 3, 31, 32, 33, 100, 1000, 1025)
GRID = [(name, m) for name in MAIN for m in SIZES if m >= CASES[name].min_rollouts]
GRID += [(name, m) for name in CASES if name not in MAIN for m in (3, 33, 1000)]


def ends(support: tuple[float, float], dtype: str) -> tuple[np.floating, np.floating]:
    """The support as floats of that type, rounded outward."""
    kind = np.dtype(dtype).type
    low, high = kind(support[0]), kind(support[1])
    low = low if float(low) <= support[0] else np.nextafter(low, kind(-np.inf))
    return low, high if float(high) >= support[1] else np.nextafter(high, kind(np.inf))


def draw(rng: np.random.Generator, m: int, low: np.floating, high: np.floating) -> np.ndarray:
    """One task of each kind, [kinds, m]."""
    u = rng.random(m)
    first = np.arange(m) == m // 2
    shares = np.stack([
        np.zeros(m),
        np.ones(m),
        np.full(m, 0.7),
        np.where(first, 0.0, 0.9),
        np.where(first, 1.0, 0.1),
        np.where(u < 0.7, 1.0, 0.0),
        np.where(u < 0.05, 0.0, 0.8 + 0.2 * u),
        10 ** (-6 * u),
        u**8,
        0.6 + 1e-7 * u,
        1e-6 * u,
        u,
    ])  # fmt: skip
    return np.clip((shares * (float(high) - float(low)) + float(low)).astype(low.dtype), low, high)


def tolerance(case: Case, low: np.floating, high: np.floating, *, units: float = 170) -> arb:
    """1e-5 of the width in float32, and as many units of roundoff in float64; but betting maximises approximately."""
    roundoff = 2.0**-24 if case is CASES["betting"] else float(np.finfo(low.dtype).eps) / 2
    last = float(max(np.spacing(abs(low)), np.spacing(abs(high))))
    return arb(units * roundoff) * arb(float(high) - float(low)) + 2 * last


@pytest.mark.parametrize(("name", "m"), GRID)
def test_never_above_the_exact_bound_and_close_to_it(name, m, precision):
    case = CASES[name]
    for index, support in enumerate(SUPPORTS):
        low, high = ends(support, precision)
        x = draw(np.random.default_rng(m), m, low, high)
        beta = np.array([BETAS[(task + m + index) % len(BETAS)] for task in range(len(x))], precision)
        for gap in case.gaps(x, beta, low, high):
            assert 0 <= gap <= tolerance(case, low, high)


@pytest.mark.parametrize("name", MAIN)
def test_never_above_for_many_small_tasks(name, precision):
    rng = np.random.default_rng(0)
    u, level = rng.random((1000, 5)), rng.random((1000, 1))
    kinds = [u, 1 - 1e-3 * u, np.where(u < level, 1, 0), np.where(u < 0.5, level, 1), level + 0 * u]
    x = np.choose(rng.integers(0, len(kinds), (1000, 1)), kinds).astype(precision)
    # Up to 1 as far as the cut of DKW leaves nearly nothing, and close to 1.
    beta = np.concatenate([10 ** rng.uniform(-10, -0.01, 500), 1 - 10 ** rng.uniform(-5, -1, 500)]).astype(precision)
    low, high = ends((0, 1), precision)
    assert min(CASES[name].gaps(x, beta, low, high)) >= 0


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("support", [(0.1, 0.7), (-1e-3, 0.3), (1e6 - 0.1, 1e6 + 0.01)])
def test_never_above_for_host_values_in_64_bits(name, support):
    low, high = support
    x = np.random.default_rng(0).uniform(low, high, (200, 5))
    x[:50] = np.where(x[:50] < x[:50].mean(), low, high)
    lower = np.asarray(CASES[name].bound(x, 0.75, support=support))
    assert lower.dtype == np.float32
    for task, bound in zip(x, lower, strict=True):
        assert rational(bound) - rational(low) <= CASES[name].oracle(Sample.of(task, low, high), 0.75)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize(("m", "units"), [(10**4, 170), (10**6, 850)])
def test_many_rollouts(name, m, units, precision):
    supports = SUPPORTS[:4] if m == 10**4 else [(-1, 2), (1e6, 1e6 + 1)]
    for support in supports:
        low, high = ends(support, precision)
        levels = draw(np.random.default_rng(5), 500, low, high)[[5, 6, 7]]
        x = np.random.default_rng(6).permuted(np.repeat(levels, m // 500, axis=-1), axis=-1)
        for gap in CASES[name].gaps(x, np.array([0.05, 1e-4, 0.01], precision), low, high):
            assert 0 <= gap <= tolerance(CASES[name], low, high, units=units)


@pytest.mark.parametrize("name", ["dkw", "betting"])
@pytest.mark.parametrize("m", [2, 33, 1000])
def test_without_an_upper_end(name, m, precision):
    exponents = np.random.default_rng(m).uniform(-6, 6, (9, m))
    x = (10**exponents - 3).astype(precision)
    low = np.dtype(precision).type(-3)
    x[0, 0] = low
    gaps = CASES[name].gaps(x, np.array(BETAS, precision), low, np.dtype(precision).type(math.inf))
    for gap, task in zip(gaps, x, strict=True):
        assert 0 <= gap <= tolerance(CASES[name], low, task.max())


# XLA takes subnormal numbers for 0 on the CPU.
FLOATS = {p: st.floats(-(2.0**100), 2.0**100, width=int(p[-2:]), allow_subnormal=False) for p in ("float32", "float64")}


@pytest.mark.parametrize("name", MAIN)
@given(data=st.data(), exponent=st.floats(-30, -1e-4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_never_above_for_any_floats(name, precision, data, exponent):
    values = data.draw(st.lists(FLOATS[precision], min_size=6, max_size=6).filter(lambda v: min(v) < max(v)))
    ordered = np.sort(np.array(values, precision))
    (gap,) = CASES[name].gaps(ordered[None, 1:], np.array([10**exponent], precision), ordered[0], ordered[-1])
    assert gap >= 0


BRIEF = [
    ([0.8, 1.0, 0.9, 0.7], 0.05),
    ([0.8, 1.0, 0.0, 0.7, 0.2, 0.9], 0.3),
    ([1.0, 1.0, 1.0], 0.01),
    ([0.0, 0.0, 1.0], 0.9),
    ([1e-6, 1e-3, 1.0, 0.5, 0.25], 0.5),
    ([*[1.0] * 18, 0.0, 0.0], 1e-4),
]


@pytest.mark.parametrize(("x", "beta"), BRIEF)
def test_betting_is_the_nested_definition(x, beta, x64):
    nested = float(betting_as_defined(x, beta))
    assert float(betting(Sample.of(np.array(x), 0.0, 1.0), beta)) == pytest.approx(nested, rel=1e-9)
    assert nested - 1e-5 <= float(bounds.betting(np.array(x), beta, support=(0.0, 1.0))) <= nested * (1 + 1e-9)


WIDTHS = {
    "float32": (1e-37, 1e-36, 1e-35, 1e-34, 1e-32, 1e30, 1e35, 3e38),
    "float64": (1e-307, 1e-306, 1e-304, 1e-300, 1e300, 1e307),
}


def samples(m: int, width: np.floating) -> np.ndarray:
    u = np.random.default_rng(m).random(m)
    shares = np.stack([u, np.full(m, 0.75), 1 - 1e-3 * u, 1e-3 * u, u**30])
    return np.minimum((shares * float(width)).astype(width.dtype), width)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("m", [2, 1000])
def test_never_above_the_exact_bound_in_extreme_supports(name, m, precision):
    for width in np.array(WIDTHS[precision], precision):
        x = samples(m, width)
        for beta in (0.99, 0.5, 1e-30):
            betas = np.full(len(x), beta, precision)
            assert all(gap >= 0 for gap in CASES[name].gaps(x, betas, np.zeros_like(width), width))


BEYOND = [
    ([[3e38] * 1000], (0.0, 3.2e38), 0),  # a sum that overflows
    ([[-3e38, 0.0, 1.0, 3e38]], (-3.1e38, 3.1e38), -3.1e38),  # a width that does
    ([[1e-45, 1e-40, 1e-39, 0.0]], (0.0, 1.0), 0),  # subnormal numbers, which are as good as 0
]


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize(("x", "support", "most"), BEYOND)
def test_what_the_type_cannot_hold_certifies_nothing(name, x, support, most):
    assert CASES[name].bound(jnp.asarray(x, jnp.float32), 0.5, support=support)[0] <= np.float32(most)


N = 2**13  # so many that returns are added column by column


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", MAIN)
def test_many_tasks_have_the_bounds_of_few(name, masked):
    rng = np.random.default_rng(0)
    x, where = rng.beta(3, 1, (N, 10)).astype(np.float32), rng.random((N, 10)) < 0.8
    where[:, :2] = True
    x[:20], x[20:40] = 0.5, rng.random((20, 10)) < 0.5
    bound = jax.jit(
        lambda x, where: getattr(bounds, name)(x, 0.05, support=(0, 1), where=where if masked else None, validate=False)
    )
    whole = np.asarray(bound(x, where))
    parts = [np.asarray(bound(x[i : i + 512], where[i : i + 512])) for i in range(0, N, 512)]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=0, atol=3e-6)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("m", [2, 10, 16])
def test_no_bound_of_short_rows_is_above_the_exact_one(name, m):
    rng = np.random.default_rng(m)
    x = rng.beta(0.5, 0.5, (2**15 // m + 1, m)).astype(np.float32)
    found = np.asarray(getattr(bounds, name)(x, 0.05, support=(0, 1)), np.float64)
    for row, value in zip(x[:60], found[:60], strict=True):
        assert value <= float(CASES[name].oracle(Sample.of(row, 0.0, 1.0), float(np.float32(0.05)))) * (1 + 1e-12)
