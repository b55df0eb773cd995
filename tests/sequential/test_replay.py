"""A state computed again from its rollouts, by every rule: what JAX took in one by one, NumPy says, too."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import sequential
from jaxcert.sequential._replay import check_replay

RNG = np.random.default_rng(0)
RULES = [
    {},
    {"give_up": 0.0, "max_rollouts_per_task": 9},
    {"bets": (0.5, "predictable")},
    {"binary": True, "max_rollouts_per_task": 30},
]


def taken_in(rule, returns):
    """Each second task only half as often; tasks and returns in the order in which they were taken in."""
    n, m = returns.shape
    state, log = sequential.init(n, [0.0, 0.4, 0.6], support=(0, 1), **rule), []
    for j in range(m):
        tasks = np.where((np.arange(n) % 2 == 0) | (j % 2 == 0), np.arange(n), -1)
        state = sequential.update(state, returns[:, j], tasks)
        log += [(i, returns[i, j]) for i in tasks if i >= 0]
    return state, np.array([i for i, _ in log]), np.array([x for _, x in log], np.float32)


@pytest.mark.parametrize("rule", RULES, ids=["default", "never left", "predictable", "binary"])
def test_a_state_follows_from_its_rollouts_alone(rule):
    shares = np.linspace(0.2, 1, 12)[:, None]
    returns = (RNG.random((12, 24)) < shares).astype(np.float32)
    if "binary" not in rule:
        returns = returns * 0.5 + RNG.random((12, 24), np.float32) * 0.5
    state, task, x = taken_in(rule, returns)
    assert state.passed[:, 1:].any()
    assert state.is_open.any() or "max_rollouts_per_task" in rule
    check_replay(state, task, x)
    passed = np.asarray(state.passed)
    i, j = np.argwhere(~passed)[0]
    more = state._replace(passed=state.passed.at[i, j].set(True), is_open=state.is_open.at[i, j].set(False))
    with pytest.raises(ValueError, match=f"what it says of task {i} at the threshold"):
        check_replay(more, task, x)
    with pytest.raises(ValueError, match="is not what the rollouts in its log give"):
        check_replay(state._replace(wealth=state.wealth * 1.5), task, x)
    for share in (0, 0.5, 0.9):
        with pytest.raises(ValueError, match="is not what the rollouts in its log give"):
            check_replay(state._replace(wealth=state.wealth.at[i, j].multiply(share)), task, x)
    with pytest.raises(ValueError, match="is not what the rollouts in its log give"):
        check_replay(state, task, np.where(task == np.flatnonzero(passed[:, 1])[0], 0, x))


@pytest.mark.parametrize("rule", RULES[:3], ids=["default", "never left", "predictable"])
def test_returns_that_are_almost_0_and_a_wealth_that_ends_there(rule):
    """What a device takes for 0 is no sign of an alteration."""
    returns = RNG.uniform(0.3, 1, (12, 24))
    returns[:, 0] = np.repeat([1e-44, 1e-38, 1e-30, 1e-28], 3)
    returns[:, 2] = np.tile([1e-12, 1e-20, 0.2], 4)
    state, task, x = taken_in(rule, returns.astype(np.float32))
    check_replay(state, task, x)


def test_returns_that_make_a_task_invalid_do_so_again():
    returns = np.full((3, 5), 0.9, np.float32)
    state, task, x = taken_in({}, returns)
    x[task == 1] = np.nan
    with pytest.raises(ValueError, match="what it says of task 1 at the threshold 0 "):
        check_replay(state, task, x)
    check_replay(state._replace(valid=jnp.asarray([True, False, True])), task, x)
    x[task == 1] = 1.5  # refutes the support for all
    with pytest.raises(ValueError, match="what it says of task 0 at the threshold 0 "):
        check_replay(state._replace(valid=jnp.asarray([True, False, True])), task, x)
    check_replay(state._replace(valid=jnp.zeros(3, bool)), task, x)
