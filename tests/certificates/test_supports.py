"""Supports that a return refutes, that are too wide for the type, or in which no threshold lies."""

import re
import warnings

import asked
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways

import jaxcert
from jaxcert import (
    Status,
    certify,
    certify_cvar,
    certify_improvement,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    paired,
)
from jaxcert.returns.summaries import Histogram
from jaxcert.sequential import certificate, init, update

N, M = 40, 4
GOOD = np.random.default_rng(0).beta(30, 2, (N, M)).astype(np.float32)
LOW, HIGH, INFINITE, MISSING = (GOOD.copy() for _ in range(4))
LOW[3, 1], HIGH[3, 1], INFINITE[3, 1], MISSING[3, 1] = -1000, 1.5, np.inf, np.nan
OPTIONS = {"support": (0.0, 1.0), "delta": 0.05, "validate": False}


def summarised(x):
    summary = Histogram.empty(N, support=(0.0, 1.0), num_bins=100).update(x, validate=False)
    return jaxcert.certify(summary, [0.1], delta=0.05, validate=False)


def by_given_bounds(x):
    lower = jaxcert.bounds.betting(x, 0.05, support=(0.0, 1.0), validate=False)
    return jaxcert.certify_lower_bounds(lower, [0.1], delta=0.05, beta=0.05, validate=False)


def in_steps(x):
    state = init(N, [0.1], support=(0.0, 1.0))
    for rollout in x.T:
        state = update(state, rollout, np.arange(N), validate=False)
    return certificate(state, 0.05)


WAYS = ways([0.1])
# Of questions compiled by the caller test_bad_input.py says it, of bounds test_registries.py.
CALLS = {
    **{name: lambda x, way=WAYS[name]: way(x, **OPTIONS) for name in ("safety", "soft", "interval", "weighted")},
    "improvement with fewer": lambda x: jaxcert.certify_improvement(x, GOOD[:, :3], [-0.95], **OPTIONS),
    "histogram": summarised,
    "given": by_given_bounds,
    "steps": in_steps,
}


@pytest.mark.parametrize("name", CALLS)
def test_one_return_outside_the_support_leaves_nothing(name):
    """A task without a value counts on its own: what is certified of the others rests on no support that it refutes."""
    call = CALLS[name]
    assert float(call(GOOD).safety[0]) > 0.4
    for returns in (LOW, HIGH, INFINITE):
        found = call(returns)
        assert (float(found.safety[0]), float(found.epsilon[0])) == (0, 1)
        assert int(found.status[0]) == Status.INVALID_INPUT
        assert np.all(~np.isfinite(found.lower_bounds))
    assert 0.3 < float(call(MISSING).safety[0]) <= float(call(GOOD).safety[0])


@pytest.mark.parametrize("method", ["binomial", "soft"])
def test_in_a_batch_and_under_jit_only_that_entry_is_refused(method):
    batch = np.stack([GOOD, LOW, MISSING, GOOD])

    def certified(x):
        return jaxcert.certify(x, [0.1], support=(0.0, 1.0), delta=0.05, method=method)

    for found in (jax.jit(certified)(batch), jax.jit(jax.vmap(certified))(batch)):
        safety = np.asarray(found.safety)[:, 0]
        assert safety[1] == 0 < safety[2] < safety[0] == safety[3]
        assert np.asarray(found.status)[:, 0].tolist() == [0, Status.INVALID_INPUT, found.status[2, 0], 0]


@pytest.mark.parametrize("method", ["binomial", "soft"])
def test_weights_alone_certify_nothing(method):
    """Those of the sampled tasks have a mean of 0.7 here, which says that the others weigh more, and no more."""
    found = jaxcert.certify_weighted(LOW, [0.1], np.full(N, 0.7), max_weight=1.5, method=method, **OPTIONS)
    assert (float(found.safety[0]), float(found.epsilon[0])) == (0, 1)


def test_an_open_end_is_refuted_by_infinity_alone():
    large = GOOD.copy()
    large[3, 1] = 1e30
    options = OPTIONS | {"support": (0.0, np.inf)}
    assert int(jaxcert.certify(large, [0.1], **options).status[0]) == Status.CERTIFIED
    assert float(jaxcert.certify(INFINITE, [0.1], **options).epsilon[0]) == 1


LARGEST = float(np.finfo(np.float32).max)
ASKED = {
    "safety": lambda a, b, **s: certify(a, 0.0, **s),
    "mean": lambda a, b, **s: certify_mean(a, **s),
    "cvar": lambda a, b, **s: certify_cvar(a, 0.9, cap=s["support"][1], **s),
    "pairs": lambda a, b, **s: certify(paired(a, b), 0.0, **s),
    "mean of pairs": lambda a, b, **s: certify_mean(paired(a, b), **s),
    "improvement": lambda a, b, **s: certify_improvement(a, b, 0.0, **s),
    "improvement of unequal numbers": lambda a, b, **s: certify_improvement(a, b[:, 1:], 0.0, **s),
    "mean difference": lambda a, b, **s: certify_mean_difference(a, b[:, 1:], **s),
    "ranking": lambda a, b, **s: certify_ranking(jnp.stack([a, b]), **s),
}
WIDTHS = {"safety": 0.4, "improvement of unequal numbers": 0.2, "mean of pairs": 0.02, "mean difference": 0.02}
WIDTHS = {name: WIDTHS.get(name, 0.1) for name in ASKED}


def sample(width: float, share: float) -> tuple[tuple[np.ndarray, np.ndarray], dict]:
    """Returns of A near the upper end, and of B as far below, with a support of that half width."""
    end = np.float32(width * LARGEST)
    a = np.full((20, 3), share * end, np.float32)
    return (a, -a), {"support": (-float(end), float(end)), "delta": 0.1}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_what_overflows_and_is_not_checked_certifies_nothing(name, width):
    data, settings = sample(width, 0.99)
    found = jax.jit(lambda *x: ASKED[name](*x, **settings, validate=False).status)(*data)
    assert (np.asarray(found) == Status.INVALID_INPUT).all()


@pytest.mark.parametrize("name", ASKED)
def test_what_is_valid_and_can_be_read_is_answered_or_refused_in_words(name):
    """Whatever the widths: no certificate calls valid returns invalid."""
    words = r"float32 cannot hold the sum of \d+ such returns: .* in a larger unit"
    answered = 0
    for width in (WIDTHS[name], 0.9, 0.1, 0.03, 0.01, 0.004, 0.003, 1e-4):
        for share in (0.99, 0.5, 0.0):
            data, settings = sample(width, share)
            try:
                found = ASKED[name](*data, **settings)
            except ValueError as error:
                if not re.search(words, str(error)):
                    raise
                continue
            assert (width, share) != (WIDTHS[name], 0.99)
            assert (np.asarray(found.status) != Status.INVALID_INPUT).all(), (width, share)
            answered += 1
    assert answered >= 6


# As in other tests, whose programs are compiled.
RETURNS = np.random.default_rng(0).permuted(np.linspace(0.2, 0.8, 600, dtype=np.float32).reshape(20, 30), axis=1)
GIVEN = {"support": (0, 1), "delta": 0.1}
ABOVE = r"is 50, above the support \(-?\d, 1\): no policy reaches that; is it in another unit, such as per cent\?"
BELOW = r"is -2, below the support \(-?\d, 1\): every policy reaches that"

NAMES = ["safety", "soft", "weighted", "band", "interval", "anytime", "sequential", "improvement"]
OTHERS = {
    "pairs": lambda t: certify(jaxcert.paired(RETURNS, RETURNS[:, ::-1]), t, **GIVEN),
    "summary": lambda t: certify(Histogram.empty(20, support=(0, 1), num_bins=10).update(RETURNS), t, delta=0.1),
    "weights": lambda t: certify(jaxcert.weighted(RETURNS, np.ones(20), max_weight=1), t, **GIVEN),
    "improvement, other sizes": lambda t: jaxcert.certify_improvement(RETURNS, RETURNS[:, 1:], t, **GIVEN),
}


@pytest.mark.parametrize(("threshold", "words"), [(50, ABOVE), (-2, BELOW)])
@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_a_threshold_outside_the_support_is_told_once_to_the_caller(name, threshold, words):
    ask = OTHERS.get(name) or (lambda t: ways(t)[name](RETURNS, **GIVEN))
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
            assert float(certify(RETURNS.astype(dtype), end, support=support, delta=0.1).safety[0]) == 0


def test_a_grid_may_begin_below_the_support_but_not_end_above_it():
    certify(RETURNS, [-1.0, 0.0, 0.5, 1.0], **GIVEN)
    with pytest.warns(UserWarning, match=r"thresholds hold 50, above the support \(0, 1\)"):
        certify(RETURNS, np.asarray([0.5, 50, 70]), **GIVEN)
    with pytest.warns(UserWarning, match=r"thresholds are up to -0.5, below the support \(0, 1\)"):
        certify(RETURNS, [-1.0, -0.5], **GIVEN)


def test_a_support_without_an_end_has_nothing_above_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(certify(RETURNS, 50, support=(0, np.inf), delta=0.1).safety[0]) == 0


def test_traced_thresholds_and_unchecked_ones_are_silent():
    call = lambda t, **checks: certify(RETURNS, t, **GIVEN, **checks).safety  # noqa: E731
    assert float(jax.jit(call)(jnp.float32(50))[0]) == 0
    assert np.all(jax.vmap(call)(jnp.asarray([0.5, 50]))[1] == 0)
    assert float(call(50, validate=False)[0]) == 0
