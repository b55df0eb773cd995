"""The level of a band's limits: in exact arithmetic, against a table and by simulation."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import exact, lower_tail
from jaxcert import certify_lower_bounds_band
from jaxcert.numerics import _calibration
from jaxcert.numerics._calibration import local_level
from jaxcert.numerics._crossing import Crossing


def boundary(n: int, delta: float, num_smallest: int | None = None) -> np.ndarray:
    """u_0, ..., u_(n-1) as a certificate of known performances reports them."""
    options = {"delta": delta, "beta": 0.0, "num_smallest": num_smallest}
    return np.asarray(certify_lower_bounds_band(np.arange(float(n)), None, **options).epsilon, float)


LONG = [(400, None, 0.01), (400, None, 0.2), (250, None, 1e-12), (250, None, 0.9)]
BANDS = [(1, None, 0.1), (2, None, 0.3), (10, None, 0.05), (50, None, 1e-6), (50, None, 0.5), (200, None, 0.01)]
BANDS += [(30, 1, 0.1), (100, 20, 0.01), (60, 59, 0.3), (60, 60, 0.3)]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("n", "smallest", "delta"), [*BANDS, *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG)]
)
def test_the_band_is_crossed_with_delta_and_no_more(n, smallest, delta):
    """Of all counts or of the smallest alone."""
    ends = boundary(n, delta, num_smallest=smallest)
    np.testing.assert_array_equal(ends[smallest or n :], 1)
    crossed = oracles.crossing_probability(n, ends)
    assert exact(delta) - exact(1e-6) <= crossed
    assert crossed <= exact(delta)


@pytest.mark.parametrize(("n", "delta"), [(1, 0.6), (7, 0.8), (30, 0.2), (80, 0.01)])
def test_it_is_crossed_no_more_often_than_delta(precision, n, delta):
    assert oracles.crossing_probability(n, boundary(n, delta)) <= exact(delta)


@pytest.mark.parametrize(("n", "delta", "level"), oracles.level_table())
def test_levels_of_the_table(n, delta, level):
    assert local_level(n, delta, n - 1) == pytest.approx(level, rel=1e-6)


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
@given(st.integers(1, 80), st.floats(1e-20, 0.99), st.data())
def test_between_the_union_bound_and_delta_and_larger_for_fewer_counts(n, delta, data):
    last = data.draw(st.integers(0, n - 1))
    level = local_level(n, delta, last)
    assert delta / (last + 1) * (1 - 1e-15) <= level <= delta
    assert local_level(n, delta, n - 1) <= level * (1 + 1e-6)
    assert local_level(n, delta / 2, last) < level


def test_a_single_count_has_delta_itself():
    assert local_level(200, 0.01, 0) == pytest.approx(0.01, rel=1e-6)


def test_groups_of_counts_lose_little(monkeypatch):
    whole = local_level(3000, 0.01, 2999)
    monkeypatch.setattr(_calibration, "_SINGLE_STEPS", 100)
    monkeypatch.setattr(_calibration, "_STANDARD_DEVIATIONS", 0.1)
    assert 0.8 * whole < local_level.__wrapped__(3000, 0.01, 2999) < whole


@pytest.mark.parametrize(("n", "delta"), [(10, 1e-200), (10, 0.9999), (100_001, 0.01)])
def test_what_is_not_calibrated_falls_back_to_the_union_bound(n, delta):
    assert local_level(n, delta, n - 1) == np.nextafter(delta / n, 0)
