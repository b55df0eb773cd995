"""A threshold outside the support says nothing of the policy: a warning says so, in words."""

import warnings

import asked
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways

import jaxcert
from jaxcert import certify
from jaxcert.returns.summaries import Histogram

# As in other tests, whose programs are compiled.
X = np.random.default_rng(0).permuted(np.linspace(0.2, 0.8, 600, dtype=np.float32).reshape(20, 30), axis=1)
SETTINGS = {"support": (0, 1), "delta": 0.1}
ABOVE = r"is 50, above the support \(-?\d, 1\): no policy reaches that; is it in another unit, such as per cent\?"
BELOW = r"is -2, below the support \(-?\d, 1\): every policy reaches that"

NAMES = ["safety", "soft", "weighted", "band", "interval", "anytime", "sequential", "improvement"]
OTHERS = {
    "pairs": lambda t: certify(jaxcert.paired(X, X[:, ::-1]), t, **SETTINGS),
    "weights": lambda t: certify(jaxcert.weighted(X, np.ones(20), max_weight=1), t, **SETTINGS),
    "improvement, other sizes": lambda t: jaxcert.certify_improvement(X, X[:, 1:], t, **SETTINGS),
}


@pytest.mark.parametrize(("threshold", "words"), [(50, ABOVE), (-2, BELOW)])
@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_a_threshold_outside_the_support_is_told_once_to_the_caller(name, threshold, words):
    ask = OTHERS.get(name) or (lambda t: ways(t)[name](X, **SETTINGS))
    with pytest.warns(UserWarning, match=words) as told:
        found = ask(threshold)
    assert [each.filename for each in told] == [__file__ if name in OTHERS else asked.__file__]
    assert threshold < 0 or float(found.safety[0]) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ends", [(0.1, 0.9), (0.1, 0.85)])
def test_the_ends_of_the_support_are_in_it_whatever_the_precision(dtype, ends):
    with warnings.catch_warnings(), jax.enable_x64(dtype == np.float64):
        warnings.simplefilter("error")
        rounded = np.asarray(ends, dtype)
        for end, support in ((ends[1], ends), (rounded[1], tuple(rounded))):
            assert float(certify(X.astype(dtype), end, support=support, delta=0.1).safety[0]) == 0


def test_a_grid_may_begin_below_the_support_but_not_end_above_it():
    certify(X, [-1.0, 0.0, 0.5, 1.0], **SETTINGS)
    with pytest.warns(UserWarning, match=r"thresholds hold 50, above the support \(0, 1\)"):
        certify(X, np.asarray([0.5, 50, 70]), **SETTINGS)
    with pytest.warns(UserWarning, match=r"thresholds are up to -0.5, below the support \(0, 1\)"):
        certify(X, [-1.0, -0.5], **SETTINGS)


def test_a_summary_has_its_own_support():
    summary = Histogram.empty(20, support=(0, 1), num_bins=10).update(X)
    with pytest.warns(UserWarning, match=ABOVE):
        certify(summary, 50, delta=0.1)


def test_a_support_without_an_end_has_nothing_above_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(certify(X, 50, support=(0, np.inf), delta=0.1).safety[0]) == 0


def test_traced_thresholds_and_unchecked_ones_are_silent():
    call = lambda t, **checks: certify(X, t, **SETTINGS, **checks).safety  # noqa: E731
    assert float(jax.jit(call)(jnp.float32(50))[0]) == 0
    assert np.all(jax.vmap(call)(jnp.asarray([0.5, 50]))[1] == 0)
    assert float(call(50, validate=False)[0]) == 0
