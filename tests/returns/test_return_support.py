"""The support of a return against every trajectory of extreme rewards."""

import itertools

import numpy as np
import pytest

from jaxcert.returns import (
    discounted_return,
    return_support,
    truncated_return,
    undiscounted_return,
)

REWARDS = [(0.0, 1.0), (-1.0, 2.0), (-2.0, -0.5), (0.5, 1.0), (-1.0, 0.0), (0.0, 0.0), (-0.1, 0.7)]


def extremes(low, high, num_steps=4):
    """Every sequence of the two extreme rewards, with every last step: [rollouts, T] each."""
    rewards = np.array(list(itertools.product([low, high], repeat=num_steps)), np.float32)
    ends = np.concatenate([np.eye(num_steps, dtype=bool), np.zeros((1, num_steps), bool)])
    return np.repeat(rewards, len(ends), axis=0), np.tile(ends, (len(rewards), 1))


@pytest.mark.parametrize(("low", "high"), REWARDS)
@pytest.mark.parametrize("discount", [1.0, 0.9, 0.0])
def test_support_is_the_range_of_the_return(low, high, discount):
    returns = np.asarray(discounted_return(*extremes(low, high), discount=discount))
    a, b = return_support(min_reward=low, max_reward=high, horizon=4, discount=discount)
    assert a <= returns.min()
    assert returns.max() <= b
    np.testing.assert_allclose([a, b], [returns.min(), returns.max()], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("low", "high"), [pair for pair in REWARDS if pair[0] <= 0])
def test_support_with_tail(low, high):
    options = {"discount": 0.9, "min_reward": low}
    truncated = np.asarray(truncated_return(*extremes(low, high), **options))
    tail = return_support(max_reward=high, horizon=4, worst_case_tail=True, **options)
    np.testing.assert_allclose(tail, [truncated.min(), truncated.max()], rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("reward", [0.1, 0.3, 1 / 3, 0.7])
@pytest.mark.parametrize("horizon", [1, 1000, 10_000])
def test_rounding_never_leaves_the_support(reward, horizon, precision):
    del precision  # float32 rewards under both settings
    r_t = np.stack([np.full(horizon, -reward, np.float32), np.full(horizon, reward, np.float32)])
    bounds = {"min_reward": -reward, "max_reward": reward, "horizon": horizon}
    _assert_inside(undiscounted_return(r_t), return_support(**bounds))
    for discount in (0.5, 0.99, 0.9999):
        _assert_inside(discounted_return(r_t, discount=discount), return_support(**bounds, discount=discount))
        result = truncated_return(r_t, discount=discount, min_reward=-reward)
        _assert_inside(result, return_support(**bounds, discount=discount, worst_case_tail=True))


def _assert_inside(returns, support):
    assert support[0] <= float(returns[0])
    assert float(returns[1]) <= support[1]


def test_zero_end_stays_zero():
    assert return_support(min_reward=0, max_reward=1, horizon=1000)[0] == 0
    assert return_support(min_reward=-1, max_reward=0, horizon=1000)[1] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_reward": 2.0}, "min_reward and max_reward must be finite and in order, got 2.0 and 1.0"),
        ({"max_reward": np.inf}, "must be finite and in order"),
        ({"min_reward": np.nan}, "must be finite and in order"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"discount": 1.5}, r"discount must be in \[0, 1\], got 1\.5"),
        ({"discount": np.nan}, r"discount must be in \[0, 1\], got nan"),
        ({"worst_case_tail": True}, "worst_case_tail needs a discount below 1"),
        ({"worst_case_tail": True, "discount": 0.5, "min_reward": 0.5}, "a min_reward that is not positive"),
    ],
)
def test_bad_input_raises(options, message):
    valid = {"min_reward": 0.0, "max_reward": 1.0, "horizon": 3}
    with pytest.raises(ValueError, match=message):
        return_support(**{**valid, **options})
