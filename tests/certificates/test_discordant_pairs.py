"""Policies compared by one success or failure of each on each task: exact, by the tasks on which one alone succeeds."""

from fractions import Fraction
from math import comb, factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import Status, certify_ranking

N = 12
OUTCOMES = [(wins, losses) for wins in range(N + 1) for losses in range(N + 1 - wins)]


def tried(wins: int, losses: int) -> np.ndarray:
    """Two policies, bool[2, N, 1]: on so many tasks the first alone succeeds, on so many the second, on others both."""
    first = np.arange(N) < N - losses
    second = np.arange(N) >= wins
    return np.stack([first, second])[..., None]


ALL = np.stack([tried(*outcome) for outcome in OUTCOMES])


def by_chance(wins: int, losses: int) -> Fraction:
    """The probability with which fair coins show that many wins or more."""
    d = wins + losses
    return Fraction(sum(comb(d, k) for k in range(wins, d + 1)), 2**d)


def probability(wins: int, losses: int, up: Fraction, down: Fraction) -> Fraction:
    """Of that outcome, if a task is won with probability ``up`` and lost with ``down``."""
    ways = factorial(N) // (factorial(wins) * factorial(losses) * factorial(N - wins - losses))
    return ways * up**wins * down**losses * (1 - up - down) ** (N - wins - losses)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
def test_an_order_is_claimed_exactly_where_the_sign_test_claims_it(delta, precision):
    found = certify_ranking(ALL, delta=np.asarray(delta, precision))
    assert found.bound == "clopper_pearson"
    assert found.order.shape == (len(OUTCOMES), 2, 2)
    level = Fraction(float(found.delta))
    wanted = [(by_chance(won, lost) <= level, by_chance(lost, won) <= level) for won, lost in OUTCOMES]
    np.testing.assert_array_equal(np.stack([found.order[:, 0, 1], found.order[:, 1, 0]], axis=-1), wanted)
    assert np.any(wanted)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_exact_probability_of_any_false_statement_is_at_most_delta(delta):
    """Over both layers, in rationals; close to delta for policies that are equally good and seldom alike."""
    least = np.asarray(certify_ranking(ALL, delta=delta).differences, np.float64)
    worst = Fraction(0)
    for up in range(9):
        for down in range(9 - up):
            won, lost = Fraction(up, 8), Fraction(down, 8)
            lead = won - lost
            false = [Fraction(float(x[0, 1])) > lead or Fraction(float(x[1, 0])) > -lead for x in least]
            risk = sum((probability(*o, won, lost) for o, bad in zip(OUTCOMES, false, strict=True) if bad), Fraction(0))
            assert risk <= Fraction(delta)
            worst = max(worst, risk)
            # A hair apart, every claim of the wrong direction is false.
            claims = sum(probability(*o, won, lost) for o in OUTCOMES if by_chance(*o) <= delta)
            assert lead > 0 or claims <= Fraction(delta)
    assert worst > Fraction(delta) / 8


def test_it_says_no_less_about_the_order_than_betting_and_more_at_times():
    exact, betting = (certify_ranking(ALL, delta=0.05, bound=bound).order for bound in (None, "betting"))
    assert np.all(exact | ~betting)
    assert np.sum(exact) > np.sum(betting)
    for wins, losses in ((9, 1), (5, 0)):
        found = certify_ranking(tried(wins, losses), delta=0.05)
        assert "policy 0 is at least as good as policy 1" in str(found)
        assert int(found.status) == Status.CERTIFIED


def test_several_policies_share_delta():
    x = np.concatenate([tried(9, 1), tried(9, 1)[1:]])  # 0.0107 by chance: less than 0.05 / 3
    np.testing.assert_array_equal(certify_ranking(x, delta=0.05).order, [[1, 1, 1], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(certify_ranking(x, delta=0.03).order, np.eye(3, dtype=bool))


def test_numbers_compiled_code_and_several_trials():
    x = tried(9, 1)
    found = certify_ranking(x, delta=0.05)
    for other in (
        certify_ranking(x.astype(float), support=(0, 1), delta=0.05, bound="clopper_pearson"),
        jax.jit(lambda x: certify_ranking(x, delta=0.05))(x),
    ):
        np.testing.assert_array_equal(other.order, found.order)
        np.testing.assert_allclose(other.differences, found.differences, rtol=1e-6)
    assert certify_ranking(x.astype(float), support=(0, 1), delta=0.05).bound == "betting"
    assert certify_ranking(np.repeat(x, 2, axis=-1), delta=0.05).bound == "betting"


def test_what_is_no_single_success_certifies_nothing():
    x = tried(9, 1).astype(np.float32)
    options = {"support": (0, 1), "delta": 0.05, "bound": "clopper_pearson"}
    for spoilt in (0.5 * x, jnp.where(x > 0, jnp.nan, x)):
        found = jax.jit(lambda x: certify_ranking(x, **options))(spoilt)
        assert int(found.status) == Status.INVALID_INPUT
        np.testing.assert_array_equal(found.order, np.eye(2, dtype=bool))
