"""The support of a return, against all short sequences of rewards."""

import itertools

import numpy as np
import pytest

from jaxcert.returns import return_support

REWARDS = [(0.0, 1.0), (-1.0, 2.0), (-2.0, -0.5), (0.5, 1.0), (-1.0, 0.0), (0.0, 0.0), (-0.1, 0.7)]


def discounted(rewards, discount):
    """The returns of rewards [..., T], in their precision."""
    total, weight = np.zeros_like(rewards[..., 0]), rewards.dtype.type(1)
    for reward in np.moveaxis(rewards, -1, 0):
        total, weight = total + weight * reward, weight * rewards.dtype.type(discount)
    return total


@pytest.mark.parametrize(("low", "high"), REWARDS)
@pytest.mark.parametrize("discount", [1.0, 0.9, 0.0])
def test_support_is_the_range_of_the_return(low, high, discount):
    lengths = [np.array(list(itertools.product([low, high], repeat=steps)), np.float32) for steps in range(1, 5)]
    returns = np.concatenate([discounted(rewards, discount) for rewards in lengths])
    a, b = return_support(min_reward=low, max_reward=high, horizon=4, discount=discount)
    assert a <= returns.min()
    assert returns.max() <= b
    np.testing.assert_allclose([a, b], [returns.min(), returns.max()], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("reward", [0.1, 0.3, 1 / 3, 0.7])
@pytest.mark.parametrize("horizon", [1, 1000, 10_000])
def test_rounding_never_leaves_the_support(reward, horizon):
    rewards = np.stack([np.full(horizon, -reward, np.float32), np.full(horizon, reward, np.float32)])
    for discount in (1.0, 0.5, 0.99, 0.9999):
        a, b = return_support(min_reward=-reward, max_reward=reward, horizon=horizon, discount=discount)
        lowest, highest = discounted(rewards, discount)
        assert a <= lowest
        assert highest <= b


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
    ],
)
def test_bad_input_raises(options, message):
    valid = {"min_reward": 0.0, "max_reward": 1.0, "horizon": 3}
    with pytest.raises(ValueError, match=message):
        return_support(**{**valid, **options})
