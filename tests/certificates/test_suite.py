"""Certificates of fixed lists: exact failure probabilities by enumeration, parts of the list, trials in a row."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import x64_context
from hypothesis import given, settings
from hypothesis import strategies as st
from lists import OUTCOMES, THRESHOLDS, UNEQUAL, M, N, data_set, performances, probabilities

from jaxcert import Status, certify_each_task, certify_suite, paired
from jaxcert.bounds import hoeffding
from jaxcert.certificates._episode import root_up
from jaxcert.certificates._levels import LISTED_TASKS
from jaxcert.numerics._coins import coins_allowed
from jaxcert.returns.summaries import Histogram

_allowed = jax.jit(coins_allowed)


def exactly_allowed(heads: list[Fraction], k: int, level: Fraction) -> tuple[int, bool]:
    """The largest x by rational numbers, and whether some probability is close to the level."""
    law, close, best = [Fraction(1)], False, 0
    for taken, p in enumerate(heads, start=1):
        law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
        below = sum(law[: k + 1])
        close |= abs(below - level) < level / 1000
        if taken > k and below > level:
            best = taken - k
    return best, close


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 64), min_size=9, max_size=9),
    st.integers(0, 9),
    st.integers(1, 255),
    st.sampled_from(["float32", "float64"]),
)
def test_no_fewer_coins_are_allowed_than_by_rational_numbers(parts, k, level, dtype):
    heads = [Fraction(part, 64) for part in sorted(parts)]
    exact, close = exactly_allowed(heads, k, Fraction(level, 256))
    with x64_context(dtype == "float64"):
        arrays = jnp.asarray([float(p) for p in heads], dtype), jnp.int32(k), jnp.asarray(level / 256, dtype)
        found = int(_allowed(*arrays))
    assert found >= exact
    assert found == exact or close


def every_outcome(mask: bool, **options):
    where = np.broadcast_to(np.arange(M) < UNEQUAL[:, None], (len(OUTCOMES), N, M)) if mask else None
    return certify_suite(data_set(OUTCOMES, M), THRESHOLDS, where=where, validate=False, **options)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("delta", [0.3, 0.05])
def test_no_list_and_no_part_of_it_has_fewer_good_tasks_too_often(mask, delta):
    """Exactly, by all that can happen; the worst part of the list counts in each outcome."""
    found = every_outcome(mask, delta=delta)
    parts = [list(part) for size in range(1, N + 1) for part in itertools.combinations(range(N), size)]
    claimed = np.stack([np.asarray(found.among(part)) for part in parts])
    np.testing.assert_array_equal(claimed[-1], found.num_good)
    worst = 0.0
    for t, threshold in enumerate(THRESHOLDS.tolist()):
        for num_bad in range(1, N + 1):
            for performance in performances(threshold, num_bad):
                good = np.asarray([sum(performance[part] >= threshold) for part in parts])
                failed = np.any(claimed[:, :, t] > good[:, None], axis=0)
                chance = probabilities(performance, UNEQUAL if mask else np.full(N, M))[failed].sum()
                assert chance <= delta * (1 + 1e-6)
                worst = max(worst, chance)
    assert worst > 0.02 * delta  # some of delta is spent, so that the test could fail


def test_a_single_trial_of_each_task_spends_nearly_all_of_delta():
    """Five of five tasks succeed: with all of them just below B, the chance is B^5."""
    threshold = 0.5
    found = certify_suite(data_set(np.ones(N), 1), threshold, delta=0.5**5 * 1.001)
    assert int(found.num_good[0]) == 1
    assert int(certify_suite(data_set(np.ones(N), 1), threshold, delta=0.5**5 * 0.999).num_good[0]) == 0


def test_at_least_37_of_40_all_tasks_and_nothing():
    counts = np.r_[np.full(38, 47), 30, 31]
    found = certify_suite(data_set(counts, 50), 0.8, delta=0.05)
    assert int(found.num_good[0]) == 37
    assert str(found) == (
        "With confidence 0.95: on at least 37 of these 40 tasks, the probability of success is at least 0.8."
    )
    many = data_set(np.full(10, 50), 50)
    assert "on all of these 10 tasks" in str(certify_suite(many, 0.5, delta=0.05))
    few = certify_suite(data_set(np.zeros(10), 50), 0.5, delta=0.05)
    assert Status(int(few.status[0])) is Status.VACUOUS
    assert "nothing is certified about how many of these 10 tasks have a probability of success" in str(few)


def test_two_policies_on_one_list():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.7, 1, (2, 12, 40)).astype(np.float32)
    found = certify_suite(paired(x, 0.2 * y), [0.0, 0.4], support=(0, 1), delta=0.05)
    assert int(found.num_good[0]) == 12
    assert "of policy A minus that of policy B" in str(found)


def test_a_summary_says_what_its_returns_say(precision):
    returns = np.random.default_rng(0).integers(0, 3, (12, 10)) / np.asarray(2, precision)
    found = certify_suite(returns, [0.2, 0.4], support=(0, 1), delta=0.1)
    summary = Histogram.empty(12, support=(0, 1), num_bins=2, dtype=precision).update(returns)
    np.testing.assert_array_equal(certify_suite(summary, [0.2, 0.4], delta=0.1).num_good, found.num_good)


def test_it_counts_what_the_bounds_say():
    rng = np.random.default_rng(1)
    returns = rng.uniform(0, 1, (12, 10)).astype(np.float32)
    found = certify_suite(returns, [0.2, 0.3], support=(0, 1), delta=0.1, bound="hoeffding")
    for level, beta in enumerate(LISTED_TASKS.levels):
        lower = np.asarray(hoeffding(returns, beta, support=(0, 1)))
        np.testing.assert_array_equal(found.violations[level], lower[:, None] < np.asarray([0.2, 0.3], np.float32))


def test_a_part_of_the_list_has_places_in_it():
    found = certify_suite(data_set(np.full(10, 20), 20), 0.5, delta=0.05)
    np.testing.assert_array_equal(found.among([0, 3]), found.among(np.isin(np.arange(10), [0, 3])))
    np.testing.assert_array_equal(found.among([0, 0, 3]), found.among([0, 3]))
    for wrong in ([10], [-11], [0.5], "0"):
        with pytest.raises(IndexError):
            found.among(wrong)
    assert len(found[:1]) == 1
    np.testing.assert_array_equal(found[0].among([1]), [1])


PASSED = np.random.default_rng(3).random((30, 50)) < np.linspace(0.7, 1, 30)[:, None]
TAUS = [0.1, 0.5, 0.9]


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("name", ["suite", "each_task"])
def test_it_is_the_question_at_the_root_which_is_rounded_up(k, name):
    ask = {"suite": certify_suite, "each_task": certify_each_task}[name]
    found = ask(PASSED, TAUS, num_episodes=k, delta=0.05)
    roots = np.asarray(root_up(found.thresholds, found.thresholds.dtype.type(k)))
    for tau, root in zip(TAUS, roots, strict=True):
        assert Fraction(float(root)) ** k >= Fraction(tau)
    same = ask(PASSED, roots, delta=0.05)
    assert found.num_good.tolist() == same.num_good.tolist()
    assert found.num_good.tolist() != ask(PASSED, TAUS, delta=0.05).num_good.tolist()
    assert found.to_dict()["thresholds"] == TAUS
    traced = jax.jit(lambda x: ask(x, found.thresholds, num_episodes=k, delta=0.05))(PASSED)
    assert traced.num_good.tolist() == found.num_good.tolist()
    assert f"the probability that the next {k} trials all succeed is at least 0.1" in str(found)
    assert str(ask(PASSED, TAUS, num_episodes=1, delta=0.05)) == str(ask(PASSED, TAUS, delta=0.05))


@pytest.mark.filterwarnings("ignore:thresholds is 1.5, above the support")
@pytest.mark.parametrize("ask", [certify_suite, certify_each_task])
@pytest.mark.parametrize(
    ("returns", "thresholds", "settings", "message"),
    [
        (PASSED, 1.5, {"num_episodes": 4}, r"thresholds\[0\] is 1.5; expected a probability in \(0, 1\]"),
        (PASSED, 0.0, {"num_episodes": 4}, r"thresholds\[0\] is 0; expected a probability"),
        (PASSED, 0.5, {"num_episodes": 0}, "num_episodes is 0; expected a whole number of at least 1"),
        (PASSED, 0.5, {"num_episodes": 2.5}, "num_episodes is 2.5; expected a whole number"),
        (PASSED * 0.5, 0.5, {"num_episodes": 4, "support": (0, 1)}, "expected successes of one policy"),
        (paired(PASSED, PASSED), 0.5, {"num_episodes": 4, "support": (0, 1)}, "expected successes of one policy"),
    ],
)
def test_what_has_no_trials_in_a_row_is_refused(ask, returns, thresholds, settings, message):
    with pytest.raises(ValueError, match=message):
        ask(returns, thresholds, delta=0.05, **settings)
