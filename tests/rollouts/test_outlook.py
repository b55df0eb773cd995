"""What undecided tasks may come to, against the experiment itself carried on with the best returns."""

import functools

import numpy as np
import pytest

from jaxcert import sequential
from jaxcert.rollouts._declared import fewest_to_pass, if_all_pass

SCORES = functools.partial(sequential.init, 3, [0.3, 0.6], support=(-1.0, 1.0), give_up=0.3)
COINS = functools.partial(sequential.init, 3, [0.3, 0.6], support=(0.0, 1.0), give_up=0.1, binary=True)


def after(state, values):
    """Each row is a round of one return for each task; -1 in place of a task for a NaN."""
    for row in values:
        state = sequential.update(state, np.nan_to_num(row), np.where(np.isnan(row), -1, np.arange(3)))
    return state


def by_trying(state, best, most):
    """How many more of the best returns each task and threshold takes, or -1."""
    found = np.where(np.asarray(state.passed), 0, -1)
    for number in range(1, most + 1):
        state = after(state, [[best] * 3])
        found = np.where((found < 0) & np.asarray(state.passed), number, found)
    return found


@pytest.mark.parametrize("init", [SCORES, COINS])
def test_the_fewest_are_those_of_the_best_returns(init):
    begin = init(max_rollouts_per_task=30)
    is_binary = bool(begin.is_binary)
    low = 0.0 if is_binary else -1.0
    starts = [
        [],
        [[1.0, low, 1.0]] * 4,
        [[1.0, 1.0, low], [1.0, low, np.nan], [1.0, 1.0, np.nan]],
        [[1.0, low, np.nan], [low, 1.0, 1.0]] * 11,
    ]
    if not is_binary:
        starts.append([[0.4, 0.1, 0.7]] * 5)
    for values in starts:
        state = after(begin, values)
        np.testing.assert_array_equal(fewest_to_pass(state), by_trying(state, 1.0, 30))


def test_a_threshold_that_is_out_of_reach():
    state = sequential.init(3, [0.0, 1.0, 2.0], support=(0.0, 1.0))
    assert fewest_to_pass(state).tolist() == [[0, -1, -1]] * 3
    assert np.all(fewest_to_pass(sequential.init(3, 5.0, support=(0.0, np.inf))) == 1)


def test_the_most_that_can_be_certified():
    state = after(COINS(max_rollouts_per_task=30), [[1.0, 0.0, np.nan]] * 15)
    most = sequential.certificate(if_all_pass(state), 0.2)
    best = sequential.certificate(after(state, [[np.nan, np.nan, 1.0]] * 15), 0.2)
    np.testing.assert_array_equal(most.safety, best.safety)
    assert float(most.safety[0]) > float(sequential.certificate(state, 0.2).safety[0])
