"""The state of a monitor in loops, under transformations, and with bad input."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.monitoring import evidence, init, update

COINS = functools.partial(init, 0.5, 0.1, successes=True, num_rollouts=5, complete=True)
SCORES = functools.partial(init, 0.5, 0.1, support=(0, 1), num_rollouts=5, complete=True)
SINGLE = functools.partial(init, 0.5, 0.1, support=(0, 1), complete=True)
KINDS = pytest.mark.parametrize("begin", [COINS, SCORES, SINGLE], ids=["successes", "scores", "single"])


def tasks_for(state, count=30, seed=0):
    """Some good, some bad: [count, m]."""
    random = np.random.default_rng(seed)
    quality = np.where(random.random(count) < 0.5, 0.2, 0.9)[:, None]
    values = random.uniform(size=(count, state.test.num_rollouts)) * quality
    return (values < quality * quality if state.test.kind == "successes" else values).astype(np.float32)


def watched(state, tasks):
    for returns in tasks:
        state = update(state, returns)
    return state


def assert_close(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=2e-5, atol=2e-5)


@KINDS
def test_loop_jit_scan_and_vmap_agree(begin, precision):
    start = begin()
    tasks = tasks_for(start)
    state = watched(start, tasks)
    assert int(state.num_tasks) == 30
    assert 0 < int(state.num_against) < 30
    scanned, _ = jax.jit(lambda s, x: jax.lax.scan(lambda s, row: (update(s, row), None), s, x))(start, tasks)
    assert_close(scanned, state)
    compiled = jax.jit(update)
    stepped = start
    for returns in tasks:
        stepped = compiled(stepped, returns)
    assert_close(stepped, state)
    several = jax.vmap(lambda rows: jax.lax.scan(lambda s, row: (update(s, row), None), start, rows)[0])(
        np.stack([tasks, tasks[::-1]])
    )
    assert_close(jax.tree.map(lambda leaf: leaf[0], several), state)
    assert_close(evidence(several).log_evidence[1], evidence(watched(start, tasks[::-1])).log_evidence)


@KINDS
def test_bad_tasks_raise_both_alarms_and_good_ones_none(begin):
    start = begin()
    found = evidence(watched(start, np.zeros((60, start.test.num_rollouts), np.float32)))
    assert found.alarm
    assert found.changed
    assert 0 < int(found.change_at) <= int(found.alarm_at) < 60
    assert int(found.num_against) == 60
    found = evidence(watched(start, np.ones((60, start.test.num_rollouts), np.float32)))
    assert not found.alarm
    assert not found.changed
    assert int(found.num_against) == 0
    assert float(found.log_evidence) < 0


def test_a_change_is_found_sooner_than_by_evidence_from_the_first_task():
    state = watched(COINS(), np.ones((100, 5), np.float32))
    state = watched(state, np.zeros((60, 5), np.float32))
    found = evidence(state)
    assert found.changed
    assert 100 < int(found.change_at) < 110
    assert int(found.alarm_at) == 0 or int(found.alarm_at) > int(found.change_at)


@KINDS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 1.5])
def test_impossible_returns_are_refused_or_end_all_conclusions(begin, bad):
    start = begin()
    returns = np.zeros(start.test.num_rollouts, np.float32)
    returns[-1] = bad
    with pytest.raises(ValueError, match=r"returns\[\d\] is .*(; expected|, outside the support) "):
        update(start, returns)
    alarmed = watched(start, np.zeros((60, len(returns)), np.float32))
    for before in (start, alarmed):
        state = jax.jit(update)(before, returns)
        found = evidence(watched(state, np.zeros((60, len(returns)), np.float32)))
        assert not found.valid
        assert float(found.log_evidence) == float(found.log_change) == -np.inf
        assert bool(found.alarm) == bool(evidence(before).alarm)  # what was concluded before stays
        assert int(found.num_tasks) == int(before.num_tasks) + 61


def test_a_traced_claim_that_says_nothing_never_raises_an_alarm():
    @jax.jit
    def alarm(threshold, epsilon):
        state = init(threshold, epsilon, support=(0, 1), complete=True)
        state, _ = jax.lax.scan(lambda s, x: (update(s, x), None), state, jnp.zeros((60, 1)))
        found = evidence(state)
        return found.alarm | found.changed, found.valid

    assert list(map(bool, alarm(0.5, 0.1))) == [True, True]
    for claim in [(0.0, 0.1), (1.5, 0.1), (jnp.nan, 0.1), (0.5, 0.0), (0.5, 1.0), (0.5, jnp.nan)]:
        assert list(map(bool, alarm(*claim))) == [False, False]


TRIALS = {"support": None, "successes": True, "num_rollouts": 5}
REFUSED = {
    "complete is False; expected True": {"complete": False},
    r"support is not given; expected \(a, b\), or successes=True": {"support": None},
    r"support is \(0, inf\); a monitor needs a finite upper end": {"support": (0, np.inf)},
    r"threshold is 0; expected a number in \(0, 1\], since no task contradicts": {"threshold": 0},
    r"threshold is 1.5; expected a number in \(0, 1\]": {"threshold": 1.5},
    r"epsilon is 1; expected a probability": {"epsilon": 1.0},
    r"alpha is 0; expected a probability": {"alpha": 0.0},
    "num_rollouts is 0; expected a whole number": {"num_rollouts": 0},
    r"support is \(0, 2\); successes have the support \(0, 1\)": {**TRIALS, "support": (0, 2)},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    settings = {"threshold": 0.5, "epsilon": 0.1, "support": (0, 1), "complete": True} | REFUSED[message]
    with pytest.raises(ValueError, match=message):
        init(**settings)


def test_returns_of_another_number_are_refused():
    with pytest.raises(ValueError, match=r"returns have shape \(4,\); expected \[5\]"):
        update(COINS(), np.zeros(4))
