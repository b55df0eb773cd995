"""The support of a return, reach and reach-avoid, against all short sequences of rewards and events."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.rollouts import (
    discounted_return,
    reach,
    reach_avoid,
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


def loop(target, avoid, done):
    """Go through the events of one rollout."""
    for hit, fault, last in zip(target, avoid, done, strict=True):
        if fault:
            return 0.0
        if hit:
            return 1.0
        if last:
            return 0.0
    return 0.0


def all_events(num_steps=3):
    """Every combination of target, avoid and done over three steps: bool [512, 3] each."""
    flags = np.array(list(itertools.product([False, True], repeat=3 * num_steps)))
    return flags[:, :num_steps], flags[:, num_steps : 2 * num_steps], flags[:, 2 * num_steps :]


def test_reach_avoid_over_all_sequences(precision):
    del precision
    target, avoid, done = all_events()
    result = reach_avoid(target, avoid, done)
    assert result.dtype == jnp.float32
    np.testing.assert_array_equal(result, [loop(*row) for row in zip(target, avoid, done, strict=True)])
    never = np.zeros_like(done)
    want = [loop(*row) for row in zip(target, avoid, never, strict=True)]
    np.testing.assert_array_equal(reach_avoid(target, avoid), want)


def test_reach_over_all_sequences(precision):
    del precision
    target, _, done = all_events()
    never = np.zeros_like(done)
    result = reach(target, done)
    assert result.dtype == jnp.float32
    np.testing.assert_array_equal(result, [loop(*row) for row in zip(target, never, done, strict=True)])
    np.testing.assert_array_equal(reach(target), target.any(axis=1))


def test_avoided_target_fails_unless_excluded():
    target, avoid = np.array([False, True]), np.array([False, True])
    assert reach_avoid(target, avoid) == 0
    assert reach_avoid(target, avoid & ~target) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reach(np.ones(3)), "target_t must be bool, got float32"),
        (lambda: reach(np.bool_(True)), r"target_t must have shape \[\.\.\., T\] with at least one step, got \(\)"),
        (lambda: reach(np.ones((2, 0), bool)), r"target_t must have shape .* got \(2, 0\)"),
        (lambda: reach(np.ones(3, bool), np.ones(2, bool)), r"done_t must have shape \(3,\), time last, got \(2,\)"),
        (lambda: reach_avoid(np.ones(3, bool), np.ones(3)), "avoid_t must be bool, got float32"),
        (lambda: reach_avoid(np.ones((2, 3), bool), np.ones(3, bool)), r"avoid_t must have shape \(2, 3\)"),
        (lambda: reach_avoid(*np.ones((2, 3), bool), np.ones(3, np.int32)), "done_t must be bool, got int32"),
    ],
)
def test_events_that_are_none_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
