"""Sums of unequal coins: each row is its own, whatever stands in another one."""

import itertools
from fractions import Fraction
from math import prod

import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._coins import coins_limit, coins_suffice


def at_most(heads, k):
    """P[sum <= k] exactly, over all outcomes."""
    outcomes = (each for each in itertools.product((0, 1), repeat=len(heads)) if sum(each) <= k)
    return sum(prod(p if head else 1 - p for p, head in zip(heads, each, strict=True)) for each in outcomes)


def test_a_number_that_is_none_spoils_no_other_row(precision):
    q, level = jnp.full((3, 3), 0.5, precision), jnp.full(3, 0.05, precision)
    k = jnp.asarray([jnp.nan, 2.0, 0.0], precision)
    assert coins_suffice(q, k, jnp.ones(3, precision), level).tolist()[1:] == [False, False]  # 7/8 and 1/8
    alone = coins_suffice(q[1:], k[1:], jnp.ones(2, precision), level[1:])
    np.testing.assert_array_equal(alone, [False, False])


def test_one_row_of_coins_serves_several_numbers(precision):
    q = jnp.asarray([0.9, 0.5, 0.75, 0.25], precision)
    k, level = jnp.asarray([0.0, 1.0, 2.0], precision), jnp.full(3, 0.3, precision)
    found = np.asarray(coins_limit(q, k, level))
    np.testing.assert_array_equal(found, coins_limit(jnp.broadcast_to(q, (3, 4)), k, level))
    for number, epsilon in zip((0, 1, 2), found.tolist(), strict=True):
        exact = at_most([Fraction(epsilon) * Fraction(p) for p in q.tolist()], number)
        assert epsilon == 1 or exact <= Fraction(float(level[0]))
        lower = at_most([Fraction(epsilon * (1 - 1e-4)) * Fraction(p) for p in q.tolist()], number)
        assert epsilon == 1 or lower > Fraction(float(level[0]))
