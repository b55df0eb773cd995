"""Sums of unequal coins: each row is its own, whatever stands in another one."""

import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._coins import coins_limit, coins_suffice


def test_a_number_that_is_none_spoils_no_other_row(precision):
    q, level = jnp.full((3, 3), 0.5, precision), jnp.full(3, 0.05, precision)
    k = jnp.asarray([jnp.nan, 2.0, 0.0], precision)
    assert coins_suffice(q, k, jnp.ones(3, precision), level).tolist()[1:] == [False, False]  # 7/8 and 1/8
    alone = coins_suffice(q[1:], k[1:], jnp.ones(2, precision), level[1:])
    np.testing.assert_array_equal(alone, [False, False])


def test_one_row_of_coins_serves_several_numbers(precision):
    q = jnp.asarray([0.9, 0.5, 0.75, 0.25], precision)
    k, level = jnp.asarray([0.0, 1.0, 2.0], precision), jnp.full(3, 0.3, precision)
    np.testing.assert_array_equal(coins_limit(q, k, level), coins_limit(jnp.broadcast_to(q, (3, 4)), k, level))
