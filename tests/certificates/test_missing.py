"""Which tasks are violations: as many as were counted, and the right ones."""

import numpy as np
import pytest
from scipy.stats import binom

import jaxcert
from jaxcert.questions import QUESTIONS

RNG = np.random.default_rng(0)
BIAS = RNG.beta(5, 1, (40, 1))
PASSED, COUNTS = RNG.random((40, 20)) < BIAS, RNG.random((40, 20)) < 0.8
RETURNS = RNG.beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
THRESHOLDS = [0.5, 0.7]


def missing(found):
    return [QUESTIONS[found.question].missing(found, i) for i in range(len(found))]


def check_counted(masks, found):
    assert [int(mask.sum()) for mask in masks] == found.num_violations.tolist()
    assert 0 < masks[-1].sum() < 40


def test_of_lower_bounds_those_below_the_threshold():
    found = jaxcert.certify(RETURNS, THRESHOLDS, support=(0, 1), delta=0.1)
    masks = missing(found)
    check_counted(masks, found)
    for mask, threshold in zip(masks, THRESHOLDS, strict=True):
        assert (mask == (np.asarray(found.lower_bounds) < np.float32(threshold))).all()


def test_of_a_level_that_was_chosen_the_bounds_at_that_level():
    found = jaxcert.certify(RETURNS, THRESHOLDS, support=(0, 1), delta=0.1, beta="auto")
    masks = missing(found)
    check_counted(masks, found)
    for mask, threshold, beta in zip(masks, THRESHOLDS, found.beta, strict=True):
        lower = np.asarray(jaxcert.bounds.betting(RETURNS, support=(0, 1), beta=beta))
        assert (mask == (lower < np.float32(threshold))).all()


@pytest.mark.parametrize("beta", [None, 0.1])
def test_of_successes_those_with_the_fewest(beta):
    found = jaxcert.certify(PASSED, THRESHOLDS, delta=0.1, beta=beta)
    masks = missing(found)
    check_counted(masks, found)
    successes = PASSED.sum(axis=1)
    assert all(successes[mask].max(initial=-1) < successes[~mask].min() for mask in masks)


def test_of_unequal_trials_those_above_the_level():
    found = jaxcert.certify(PASSED, THRESHOLDS, delta=0.1, beta=0.1, where=COUNTS)
    masks = missing(found)
    check_counted(masks, found)
    successes, trials = (PASSED & COUNTS).sum(axis=1), COUNTS.sum(axis=1)
    for mask, threshold in zip(masks, THRESHOLDS, strict=True):
        assert (mask == (binom.sf(successes - 1, trials, threshold) > 0.1)).all()
    chosen = jaxcert.certify(PASSED, THRESHOLDS, delta=0.1, where=COUNTS)
    check_counted(missing(chosen), chosen)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_of_unequal_trials_those_that_a_safety_level_leaves_out(simultaneous):
    found = jaxcert.certify_safety_level(PASSED, [0.5, 0.8], delta=0.1, where=COUNTS, simultaneous=simultaneous)
    masks = missing(found)
    assert [int(mask.sum()) for mask in masks] == found.num_violations.tolist()
    successes, trials = (PASSED & COUNTS).sum(axis=1), COUNTS.sum(axis=1)
    for mask, threshold, beta in zip(masks, found.thresholds, found.beta, strict=True):
        levels = binom.sf(successes - 1, trials, float(threshold))
        assert levels[~mask].max() <= beta + 1e-5 or simultaneous
    assert 0 < masks[0].sum() < 40


def test_of_weighed_tasks_it_is_not_known():
    soft = jaxcert.certify(RETURNS, [0.5, 0.7], support=(0, 1), delta=0.1, method="soft")
    assert soft.num_violations[1] > 0
    assert missing(soft)[1] is None


def test_of_a_list_those_that_do_not_pass():
    suite = jaxcert.certify_suite(PASSED, THRESHOLDS, delta=0.1)
    each = jaxcert.certify_each_task(PASSED, THRESHOLDS, delta=0.1)
    for i in (0, 1):
        of_suite = QUESTIONS["suite"].missing(suite, i)
        assert of_suite.sum() == suite.num_violations[i]
        successes = PASSED.sum(axis=1)
        assert successes[of_suite].max(initial=-1) < successes[~of_suite].min()
        assert (QUESTIONS["each_task"].missing(each, i) == ~np.asarray(each.good)[:, i]).all()
