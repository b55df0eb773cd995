"""Scores and evidence against exact arithmetic: their means under the claim, path by path."""

import functools
import itertools
from fractions import Fraction
from math import comb

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxcert.monitoring import evidence, init, update
from jaxcert.monitoring._monitor_state import advance
from jaxcert.monitoring._task_test import as_returns, score_down

CLAIMS = [(0.5, 0.1), (0.8, 0.02), (0.95, 0.3), (1.0, 0.05), (0.01, 0.9)]


def exactly(x) -> Fraction:
    return Fraction(float(x))


def binomial(m: int, p: Fraction) -> list[Fraction]:
    return [comb(m, s) * p**s * (1 - p) ** (m - s) for s in range(m + 1)]


def scores_by_successes(state, m: int) -> list[Fraction]:
    rows = [(np.arange(m) < s).astype(np.float32) for s in range(m + 1)]
    return [exactly(score_down(state.test, as_returns(state.test, row))[0]) for row in rows]


@pytest.mark.parametrize("m", [1, 2, 5, 9])
@pytest.mark.parametrize(("threshold", "epsilon"), CLAIMS)
def test_scores_of_successes_have_a_mean_of_at_most_one(precision, threshold, epsilon, m):
    b, risk = Fraction(threshold), Fraction(epsilon)
    scores = scores_by_successes(init(threshold, epsilon, successes=True, num_rollouts=m, complete=True), m)
    assert all(earlier >= later for earlier, later in itertools.pairwise(scores))
    means = []
    for good in (b, (b + 1) / 2, Fraction(1)):
        means.append((1 - risk) * sum(map(Fraction.__mul__, binomial(m, good), scores)) + risk * scores[0])
    assert max(means) <= 1
    assert means[0] > 1 - Fraction(1, 10**4)  # and it is not loose: the worst tasks have nearly 1


@pytest.mark.parametrize(("threshold", "epsilon"), [(0.5, 0.1), (-1.0, 0.3), (2.9, 0.01), (3.0, 0.5)])
def test_scores_of_single_returns_have_a_mean_of_at_most_one(precision, threshold, epsilon):
    low, high, b, risk = Fraction(-2), Fraction(3), Fraction(threshold), Fraction(epsilon)
    state = init(threshold, epsilon, support=(-2, 3), complete=True)

    def score(x: Fraction) -> Fraction:
        return exactly(score_down(state.test, as_returns(state.test, np.asarray([float(x)])))[0])

    share = (b - low) / (high - low)  # of returns of 3 among -2 and 3, for a mean of B
    worst = [(1 - risk) * score(b) + risk * score(low)]
    worst.append((1 - risk) * (share * score(high) + (1 - share) * score(low)) + risk * score(low))
    assert max(worst) <= 1
    assert min(worst) > 1 - Fraction(1, 10**4)


@pytest.mark.parametrize("epsilon", [0.04, 0.1, 0.6, 0.95])
def test_upper_bounds_flag_good_tasks_with_probability_beta_at_most(epsilon):
    m, threshold = 4, 0.6
    state = init(threshold, epsilon, support=(0, 1), num_rollouts=m, complete=True)
    beta = exactly(state.test.beta)
    flags = {
        row: float(score_down(state.test, as_returns(state.test, np.asarray(row, np.float32)))[0]) > 0
        for row in itertools.product((0.0, 1.0), repeat=m)
    }
    for mean in [Fraction(threshold), Fraction(7, 10), Fraction(9, 10)]:
        chance = sum(
            mean ** int(sum(row)) * (1 - mean) ** (m - int(sum(row))) for row, flagged in flags.items() if flagged
        )
        assert chance <= beta
    assert any(flags.values()) == (beta > 0.4**m)
    # The level with which a flag counts.
    q = Fraction(epsilon) + (1 - Fraction(epsilon)) * beta
    assert q <= exactly(state.test.largest) < q * (1 + Fraction(1, 10**5))


@functools.cache
def log_of(x: Fraction) -> mpmath.mpf:
    return mpmath.log(mpmath.mpf(x.numerator) / x.denominator) if x else mpmath.mpf("-inf")


def exact_evidence(state, scores, number=exactly) -> tuple:
    """The mixture over bets of the product, and of the sum over starting times, in numbers of a kind."""
    bets = [number(float(x)) for x in state.bets]
    products, sums = [number(1)] * len(bets), [number(0)] * len(bets)
    for score in scores:
        factors = [1 + bet * (score - 1) for bet in bets]
        products = [x * f for x, f in zip(products, factors, strict=True)]
        sums = [(x + 1) * f for x, f in zip(sums, factors, strict=True)]
    return tuple(sum(w * x for w, x in zip((3, 3, 2, 1), each, strict=True)) / 9 for each in (products, sums))


def test_evidence_is_at_most_its_exact_value_and_its_mean_at_most_one(precision):
    """Every path of five tasks under the claim at its edge, with chances, scores and evidence as rationals."""
    start = init(0.5, 0.1, successes=True, num_rollouts=2, complete=True)
    assert int(start.test.most_successes) == 0
    flag, none = scores_by_successes(start, 2)[0], Fraction(0)
    chance = Fraction(0.1) + (1 - Fraction(0.1)) / 4
    slack = 1e-5 if precision == "float32" else 1e-13
    total, total_change, length = mpmath.mpf(0), mpmath.mpf(0), 5
    with mpmath.workdps(50):
        flagged = mpmath.mpf(chance.numerator) / chance.denominator
        for path in itertools.product([flag, none], repeat=length):
            state = start
            for score in path:
                state = advance(state, jnp.asarray(float(score), start.goal.dtype), jnp.asarray(True))
            found = evidence(state)
            logs = found.log_evidence, found.log_change
            for computed, exact in zip(logs, exact_evidence(start, path), strict=True):
                assert log_of(exact) - slack <= mpmath.mpf(float(computed)) <= log_of(exact)
            share = mpmath.mpf(1)
            for score in path:
                share *= flagged if score else 1 - flagged
            total += share * mpmath.exp(float(found.log_evidence))
            total_change += share * mpmath.exp(float(found.log_change))
    assert 1 - 100 * slack < total <= 1
    assert length * (1 - 100 * slack) < total_change <= length


def test_after_hundreds_of_tasks_the_evidence_is_still_below_its_exact_value(precision):
    random = np.random.default_rng(0)
    state = init(0.5, 0.25, support=(0, 1), complete=True)
    with mpmath.workdps(40):
        scores = []
        for x in random.uniform(size=300).astype(np.float32):
            state = update(state, x[None])
            scores.append((1 - mpmath.mpf(float(x))) / (1 - mpmath.mpf(3) / 8))
        found = evidence(state)
        exact = exact_evidence(state, scores, mpmath.mpf)
        for computed, value in zip((found.log_evidence, found.log_change), map(mpmath.log, exact), strict=True):
            assert value - (0.01 if precision == "float32" else 1e-10) <= mpmath.mpf(float(computed)) <= value
