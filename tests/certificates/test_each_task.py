"""Which tasks are good, bad or violations: by enumeration, by p-values, and as many as were counted."""

from typing import Any

import jax
import numpy as np
import pytest
from lists import OUTCOMES, THRESHOLDS, UNEQUAL, M, N, data_set, performances, probabilities
from scipy import stats

import jaxcert
from jaxcert import certify_each_task
from jaxcert.questions import QUESTIONS


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("delta", [0.3, 0.05])
def test_no_task_is_named_wrongly_too_often(mask, complete, delta):
    """Exactly, by all that can happen."""
    where = np.broadcast_to(np.arange(M) < UNEQUAL[:, None], (len(OUTCOMES), N, M)) if mask else None
    settings = {"delta": delta, "complete": complete, "where": where, "validate": False}
    found = certify_each_task(data_set(OUTCOMES, M), THRESHOLDS, **settings)
    good, bad = np.asarray(found.good), np.asarray(found.bad)
    assert bad.any() == complete
    worst = 0.0
    for t, threshold in enumerate(THRESHOLDS.tolist()):
        for num_bad in range(N + 1):
            for performance in performances(threshold, num_bad):
                is_good = performance >= threshold
                failed = np.any(np.where(is_good, bad[..., t], good[..., t]), axis=-1)
                chance = probabilities(performance, UNEQUAL if mask else np.full(N, M))[failed].sum()
                assert chance <= delta * (1 + 1e-6)
                worst = max(worst, chance)
    assert worst > 0 or delta < 0.1


@pytest.mark.parametrize("num_tasks", [12, 300])
def test_it_names_the_tasks_of_holms_procedure(num_tasks):
    rng, m, delta = np.random.default_rng(0), 40, 0.05
    counts = rng.binomial(m, rng.beta(9, 1, num_tasks))
    thresholds = np.asarray([0.6, 0.8], np.float32)
    found = certify_each_task(data_set(counts, m), thresholds, delta=delta)
    for threshold, good in zip(thresholds.tolist(), np.asarray(found.good).T, strict=True):
        p = stats.binom.sf(counts - 1, m, threshold)
        named = np.zeros(num_tasks, bool)
        for r, i in enumerate(np.argsort(p)):
            if p[i] > delta / (num_tasks - r):
                break
            named[i] = True
        assert not np.any(good & ~named)
        # Beyond 256 tasks the levels between those evaluated are rounded down.
        assert good.sum() >= named.sum() - (0 if num_tasks < 256 else 3)
        assert np.sum(p <= delta / num_tasks) <= good.sum()


@pytest.mark.filterwarnings("ignore:thresholds hold .* above the support:UserWarning")
@pytest.mark.parametrize("complete", [False, True])
def test_no_task_reaches_a_threshold_above_one(complete):
    thresholds = np.asarray([np.nextafter(np.float32(1), np.float32(2)), 1.5], np.float32)
    for successes in (np.ones((5, 30), bool), np.zeros((5, 30), bool)):
        found = certify_each_task(successes, thresholds, delta=0.05, complete=complete)
        assert not np.any(found.good)
        traced = jax.jit(lambda x, t: certify_each_task(x, t, delta=0.05).num_good)
        assert not np.any(traced(successes, thresholds))
        assert not np.any(jaxcert.certify_suite(successes, thresholds, delta=0.05).num_good)


def test_names_and_places_in_words():
    passed = data_set([30, 29, 22, 9, 30], 30)
    names = ["pick", "place", "pour", "fold", "push"]
    both = certify_each_task(passed, [0.6, 0.99], delta=0.05, complete=True, tasks=names)
    start = "With confidence 0.95: the probability of success is"
    assert str(both).splitlines() == [
        f"{start} at least 0.6 on pick, place, push (3 of 5), and below 0.6 on fold (1 of 5).",
        f"{start} below 0.99 on pour, fold (2 of 5).",
    ]
    one = certify_each_task(passed[3:], 0.6, delta=0.05)
    assert str(one) == f"{start} at least 0.6 on task 1 (1 of 2)."
    none = certify_each_task(passed[3:4], 0.6, delta=0.05)
    assert "no task is known to have a probability of success of at least 0.6" in str(none)
    many = str(certify_each_task(np.ones((30, 40), bool), 0.5, delta=0.05))
    assert "28, 29 (30 of 30)" in many


RNG = np.random.default_rng(0)
BIAS = RNG.beta(5, 1, (40, 1))
PASSED, COUNTS = RNG.random((40, 20)) < BIAS, RNG.random((40, 20)) < 0.8
RETURNS = RNG.beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
LEVELS = [0.5, 0.7]


def missing(found, question="safety") -> list[Any]:
    known = QUESTIONS[question].missing
    assert known is not None
    return [known(found, i) for i in range(len(found))]


def counted(found, question="safety") -> list[Any]:
    """As many as were counted."""
    masks = missing(found, question)
    assert [int(mask.sum()) for mask in masks] == found.num_violations.tolist()
    assert 0 < masks[-1].sum() < 40
    return masks


def test_of_lower_bounds_those_below_the_threshold():
    found = jaxcert.certify(RETURNS, LEVELS, support=(0, 1), delta=0.1)
    for mask, threshold in zip(counted(found), LEVELS, strict=True):
        assert (mask == (np.asarray(found.lower_bounds) < np.float32(threshold))).all()


def test_of_a_level_that_was_chosen_the_bounds_at_that_level():
    found = jaxcert.certify(RETURNS, LEVELS, support=(0, 1), delta=0.1, beta="auto")
    for mask, threshold, beta in zip(counted(found), LEVELS, found.beta, strict=True):
        lower = np.asarray(jaxcert.bounds.betting(RETURNS, support=(0, 1), beta=beta))
        assert (mask == (lower < np.float32(threshold))).all()


@pytest.mark.parametrize("beta", [None, 0.1])
def test_of_successes_those_with_the_fewest(beta):
    found = jaxcert.certify(PASSED, LEVELS, delta=0.1, beta=beta)
    successes = PASSED.sum(axis=1)
    assert all(successes[mask].max(initial=-1) < successes[~mask].min() for mask in counted(found))


def test_of_unequal_trials_those_above_the_level():
    found = jaxcert.certify(PASSED, LEVELS, delta=0.1, beta=0.1, where=COUNTS)
    successes, trials = (PASSED & COUNTS).sum(axis=1), COUNTS.sum(axis=1)
    for mask, threshold in zip(counted(found), LEVELS, strict=True):
        assert (mask == (stats.binom.sf(successes - 1, trials, threshold) > 0.1)).all()
    counted(jaxcert.certify(PASSED, LEVELS, delta=0.1, where=COUNTS))


def test_of_unequal_trials_those_that_a_safety_level_leaves_out():
    found = jaxcert.certify_safety_level(PASSED, [0.8, 0.5], delta=0.1, where=COUNTS)
    successes, trials = (PASSED & COUNTS).sum(axis=1), COUNTS.sum(axis=1)
    for mask, threshold, beta in zip(counted(found, "safety_level"), found.thresholds, found.beta, strict=True):
        levels = stats.binom.sf(successes - 1, trials, float(threshold))
        assert levels[~mask].max() <= beta + 1e-5


def test_of_weighed_tasks_it_is_not_known():
    soft = jaxcert.certify(RETURNS, [0.5, 0.7], support=(0, 1), delta=0.1, method="soft")
    assert soft.num_violations[1] > 0
    assert missing(soft)[1] is None


def test_of_a_list_those_that_do_not_pass():
    suite = jaxcert.certify_suite(PASSED, LEVELS, delta=0.1)
    each = jaxcert.certify_each_task(PASSED, LEVELS, delta=0.1)
    for i, (of_suite, of_each) in enumerate(zip(missing(suite, "suite"), missing(each, "each_task"), strict=True)):
        assert of_suite.sum() == suite.num_violations[i]
        successes = PASSED.sum(axis=1)
        assert successes[of_suite].max(initial=-1) < successes[~of_suite].min()
        assert (of_each == ~np.asarray(each.good)[:, i]).all()
