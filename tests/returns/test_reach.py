"""Reach and reach-avoid against a plain loop over all short event sequences."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.returns import reach, reach_avoid


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
def test_bad_input_raises(call, message):
    with pytest.raises(ValueError, match=message):
        call()
