"""The complete step curve against counting and SciPy."""

import dataclasses

import numpy as np
import pytest
import scipy.stats
from handmade import make_certificate

import jaxcert
from jaxcert.report import step_curve

DELTA, BETA = 0.01, 0.05


def lower_bounds(precision: str, num_tasks: int = 40) -> np.ndarray:
    """Bounds with ties, and one that says nothing."""
    drawn = np.random.default_rng(1).normal(size=num_tasks).round(1)
    drawn[3] = -np.inf
    return drawn.astype(precision)


def test_every_distinct_bound_once_with_its_safety(precision):
    bounds = lower_bounds(precision)
    certificate = jaxcert.certify_lower_bounds(bounds, 0.0, delta=DELTA, beta=BETA)
    curve = step_curve(certificate)

    levels = np.unique(bounds[np.isfinite(bounds)])
    violations = (bounds[None, :] < levels[:, None]).sum(axis=1)
    limits = scipy.stats.beta.ppf(1 - DELTA, violations + 1, len(bounds) - violations)
    np.testing.assert_array_equal(curve.thresholds, levels)
    np.testing.assert_array_equal(curve.num_violations, violations)
    tolerance = {"float32": 1e-5, "float64": 1e-10}[precision]
    np.testing.assert_allclose(curve.safety, 1 - np.minimum(1, limits / (1 - BETA)), atol=tolerance)
    assert curve.safety.dtype == precision


def test_between_two_points_the_upper_one_holds(x64):
    bounds = lower_bounds("float64")
    certificate = jaxcert.certify_lower_bounds(bounds, 0.0, delta=DELTA, beta=BETA)
    curve = step_curve(certificate)
    middle = (np.asarray(curve.thresholds)[1:] + np.asarray(curve.thresholds)[:-1]) / 2
    between = jaxcert.certify_lower_bounds(bounds, middle, delta=DELTA, beta=BETA)
    np.testing.assert_array_equal(between.safety, curve.safety[1:])


CHEETAH = jaxcert.sample_returns("cheetah")
GOOD = {"support": (0.0, 1000.0), "delta": 0.01}


def test_of_an_interval_it_has_both_ends_each_at_half_of_delta():
    found = jaxcert.certify_interval(CHEETAH, 500.0, **GOOD, complete=True)
    curve = step_curve(found)
    assert (type(curve), float(curve.delta), curve.bound) == (type(found), float(found.delta), "betting")
    halved = jaxcert.certify_lower_bounds(found.lower_bounds, curve.thresholds, delta=0.005, beta=0.05)
    np.testing.assert_allclose(curve.safety, halved.safety, rtol=1e-6)
    below = np.asarray(curve.thresholds)[:, None] > np.asarray(found.upper_bounds)
    np.testing.assert_allclose(curve.num_below, below.sum(axis=1), atol=1)
    limits = scipy.stats.beta.ppf(0.005, np.maximum(curve.num_below, 1), 201 - np.asarray(curve.num_below))
    limits = np.where(curve.num_below, limits, 0)
    np.testing.assert_allclose(curve.safety_upper, 1 - np.maximum(limits - 0.02, 0) / 0.98, rtol=1e-5)
    next_one = curve[int(np.searchsorted(curve.thresholds, 500.0))]
    np.testing.assert_array_equal(next_one.safety, found.safety)
    assert "with a probability between 0.9195 and" in str(next_one)


def test_what_has_no_curve():
    nothing = dataclasses.replace(make_certificate(), lower_bounds=np.full(3, -np.inf, "float32"))
    with pytest.raises(ValueError, match="no finite lower bound"):
        step_curve(nothing)


@pytest.mark.parametrize("options", [{"method": "soft"}, {"method": "attained", "beta": 0.05}])
def test_what_counts_no_lower_bounds_has_none(options):
    found = jaxcert.certify(np.ones((40, 4), bool), 0.5, delta=DELTA, **options)
    with pytest.raises(ValueError, match="counts no lower bounds at one beta: certify more"):
        step_curve(found)


def test_a_thinned_curve_is_part_of_the_complete_one():
    """What holds between two of its points is at most what the complete curve says there."""
    bounds = np.random.default_rng(2).permutation(2500).astype(np.float32)
    certificate = jaxcert.certify_lower_bounds(bounds, np.sort(bounds), delta=DELTA, beta=BETA)
    curve = step_curve(certificate)
    assert len(curve) == 1000
    kept = np.searchsorted(certificate.thresholds, curve.thresholds)
    assert (kept[0], kept[-1]) == (0, 2499)
    np.testing.assert_array_equal(np.asarray(certificate.thresholds)[kept], curve.thresholds)
    np.testing.assert_allclose(curve.safety, np.asarray(certificate.safety)[kept], atol=1e-6)
    upper = np.asarray(curve.safety)[np.searchsorted(curve.thresholds, certificate.thresholds)]
    assert np.all(upper <= np.asarray(certificate.safety) + 1e-6)


def test_a_curve_of_invalid_returns_says_so():
    returns = np.full((40, 4), 0.9, np.float32)
    returns[3, 1] = np.nan
    found = jaxcert.certify(returns, 0.1, support=(0, 1), delta=DELTA, validate=False)
    curve = step_curve(found)
    assert curve.status.tolist() == [jaxcert.Status.INVALID_INPUT]
    # Of given bounds, -inf is one of which nothing is known.
    assert jaxcert.Status.INVALID_INPUT not in step_curve(make_certificate()).status.tolist()
