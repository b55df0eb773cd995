"""Adaptive rollouts: the same returns in any memory, valid at any moment, and an end when it was asked for."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from scipy import stats

from jaxcert import Status
from jaxcert.rollouts import MultiTaskEnv, Policy, certify_adaptive, certify_policy
from jaxcert.rollouts._adaptive import _most_per_task
from jaxcert.rollouts._rounds import Run, assign
from jaxcert.sequential import certify_sequential, init
from jaxcert.tasks import bridge_world


class State(NamedTuple):
    """Of a toss whose outcome shows after some steps."""

    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    outcome: jax.Array
    left: jax.Array


@dataclasses.dataclass(frozen=True)
class SlowCoin:
    """Heads, of probability p times the action, show at once; tails take seven steps more."""

    p: jax.Array

    def reset(self, rng):
        outcome = jax.random.uniform(rng)
        return State(self.p, jnp.zeros_like(outcome), jnp.zeros((), bool), outcome, jnp.int32(8))

    def step(self, state, action):
        heads = state.outcome < self.p * action
        over = heads | (state.left <= 1)
        return State(state.obs, heads.astype(state.reward.dtype), over, state.outcome, state.left - 1)


def tosses(params, obs, key):
    """The action is the parameter."""
    return jnp.broadcast_to(params, ()).astype(obs.dtype)


COINS = MultiTaskEnv(SlowCoin, lambda key: jax.random.uniform(key), 10, (0.0, 1.0))
POLICY = Policy(tosses, jnp.float32(1))
KEY, B = jax.random.key(3), 0.5
KINDS = jax.random.key, jax.random.PRNGKey
SETTINGS = {"num_tasks": 30, "max_rollouts": 2000, "delta": 0.1, "give_up": 0.1, "max_rollouts_per_task": 60}


def adaptive(**change):
    settings = {**SETTINGS, **change}
    given = settings.pop("policy", POLICY), settings.pop("key", KEY), settings.pop("thresholds", B)
    return certify_adaptive(COINS, *given, **settings)


def by_task(found) -> list[np.ndarray]:
    """The returns of each task in the order in which they were taken in."""
    task, value = np.asarray(found.rollout_task), np.asarray(found.rollout_return)
    return [value[task == i] for i in range(found.state.passed.shape[0])]


def assert_same_returns(one, other):
    """As far as both went on with a task."""
    for ours, theirs in zip(by_task(one), by_task(other), strict=True):
        shared = min(len(ours), len(theirs))
        np.testing.assert_array_equal(ours[:shared], theirs[:shared])


@pytest.fixture(scope="module")
def whole():
    return adaptive()


def test_returns_of_a_task_do_not_depend_on_how_many_run_at_once(whole):
    found = adaptive(max_bytes=800)
    assert_same_returns(found, whole)
    np.testing.assert_array_equal(found.state.passed, whole.state.passed)
    np.testing.assert_array_equal(found.certificate.num_rollouts_used, whole.certificate.num_rollouts_used)
    np.testing.assert_array_equal(found.certificate.epsilon, whole.certificate.epsilon)


@dataclasses.dataclass(frozen=True)
class DoublingCoin(SlowCoin):
    """A step from zeros, which are no state of it, would never end."""

    def step(self, state, action):
        grown = jax.lax.while_loop(lambda x: x < 8, lambda x: 2 * x, state.obs)
        return super().step(state._replace(obs=state.obs + 0 * grown), action)


def test_slots_without_a_rollout_hold_what_an_environment_can_step(whole):
    doubling = dataclasses.replace(COINS, environment=DoublingCoin)
    found = certify_adaptive(doubling, POLICY, KEY, B, **SETTINGS)
    np.testing.assert_array_equal(found.state.passed, whole.state.passed)


def test_it_is_the_sequential_certificate_of_its_returns(whole):
    rows = by_task(whole)
    x, where = np.zeros((30, 60), np.float32), np.zeros((30, 60), bool)
    for i, row in enumerate(rows):
        x[i, : len(row)], where[i, : len(row)] = row, True
    again = certify_sequential(x, B, support=(0, 1), delta=0.1, give_up=0.1, where=where)
    for name in ("num_violations", "num_rollouts_used", "epsilon", "safety", "lower_bounds"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole.certificate, name))
    assert 5 < np.mean([len(row) for row in rows]) < 60
    assert np.mean([len(set(np.asarray(row).tolist())) > 1 for row in rows]) > 0.5  # each rollout has its own key
    assert sum(map(len, rows)) <= int(whole.num_started) <= 1.3 * sum(map(len, rows))


def test_the_tasks_are_those_of_certify_policy(whole):
    fixed = certify_policy(COINS, POLICY, KEY, B, num_tasks=30, num_rollouts=60, delta=0.1)
    np.testing.assert_array_equal(fixed.tasks, whole.tasks)
    assert str(whole).startswith(str(whole.certificate))


def test_it_ends_when_the_wanted_safety_is_certified(whole):
    wanted = 0.1
    found = adaptive(until=wanted)
    assert wanted <= float(found.certificate.safety[0]) < float(whole.certificate.safety[0])
    assert int(found.num_started) < int(whole.num_started)
    # Before the last round, of at most one rollout per task, it was not.
    before = adaptive(until=wanted, max_rollouts=int(found.num_started) - 30)
    assert float(before.certificate.safety[0]) < wanted


def test_a_threshold_that_has_its_safety_takes_no_more_rollouts():
    one = adaptive(thresholds=[0.3, 0.5], until=[0.1, 0.1])
    other = adaptive(thresholds=[0.3, 0.5])
    assert np.all(np.asarray(one.certificate.safety) >= 0.1)
    assert int(one.num_started) < int(other.num_started)


def test_the_rollouts_are_spent_and_no_more():
    found = adaptive(max_rollouts=100)
    assert int(found.num_started) == 100
    assert int(found.state.num_rollouts.sum()) == 100
    assert np.all(np.asarray(found.rollout_task)[100:] == -1)
    none = adaptive(max_rollouts=1)
    assert float(none.certificate.safety[0]) == 0


def test_new_values_compile_nothing(whole):
    def call(threshold, delta, until, seed):
        settings = {**SETTINGS, "delta": delta, "until": until, "max_rollouts": 1500 + seed}
        policy = dataclasses.replace(POLICY, params=jnp.float32(0.9))
        return certify_adaptive(COINS, policy, jax.random.key(seed), threshold, **settings)

    call(0.4, 0.1234, 0.1, 1)  # a delta of which no other test has left a table
    assert compilations(lambda: call(0.45, 0.2, 0.15, 2)) == 0


def test_a_key_of_the_old_kind_is_as_good():
    policy = bridge_world.table_policy(bridge_world.left_policy())
    settings = {"num_tasks": 8, "max_rollouts": 100, "delta": 0.1}
    found, wanted = (certify_adaptive(bridge_world.ENV, policy, key(0), 0.5, **settings) for key in KINDS)
    np.testing.assert_array_equal(found.rollout_return, wanted.rollout_return)


# --- how often it fails -------------------------------------------------------------------------------------------

REPEATS, RISK, DELTA, BETA = 500, 0.5, 0.1, 0.3
HALF = MultiTaskEnv(SlowCoin, lambda key: jnp.where(jax.random.bernoulli(key, RISK), 0.4995, 1.0), 10, (0.0, 1.0))


@pytest.mark.slow
def test_it_fails_at_most_with_delta():
    """Of certificates of 20 tasks, half of which are just below the threshold; every moment counts."""
    settings = {"num_tasks": 20, "max_rollouts": 2000, "delta": DELTA, "beta": BETA, "give_up": 0.02}
    settings |= {"max_rollouts_per_task": 80, "validate": False}
    once = jax.vmap(lambda key: certify_adaptive(HALF, POLICY, key, 0.5, **settings).certificate.epsilon[0])
    epsilon = jax.jit(once)(jax.random.split(jax.random.key(7), REPEATS))
    count = int(np.sum(np.asarray(epsilon) < RISK))
    assert stats.binomtest(count, REPEATS, DELTA, alternative="greater").pvalue > 1e-4
    assert count > 0.1 * DELTA * REPEATS


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"max_rollouts": 10**10}, "max_rollouts is 10000000000; expected at most 268435456"),
        ({"until": 0.95}, r"until is 0.95; 30 tasks certify at most 0.92.. at this delta and beta"),
        ({"until": [0.1, 0.2]}, "until has 2 entries; expected one, or one for each of 1 thresholds"),
        ({"delta": 2.0}, "delta is 2"),
        ({"beta": 0.0}, "beta is 0"),
        ({"binary": True, "max_rollouts_per_task": 2001}, "binary needs a number of at most 2000"),
        ({"max_rollouts_per_task": 0}, "max_rollouts_per_task is 0"),
    ],
)
def test_bad_settings_are_refused_before_any_rollout(change, message):
    with pytest.raises(ValueError, match=message):
        adaptive(**change)


def test_thresholds_and_a_wanted_safety_may_be_constants_of_a_compiled_function():
    call = lambda key, until: certify_adaptive(COINS, POLICY, key, B, **SETTINGS, binary=True, until=until)  # noqa: E731
    assert jax.eval_shape(lambda key: call(key, 0.7), KEY).certificate.epsilon.shape == (1,)
    with pytest.raises(ValueError, match=r"until is 0\.99; 30 tasks certify at most"):
        jax.eval_shape(lambda key: call(key, 0.99), KEY)


def test_returns_that_are_no_numbers_are_named_or_count_as_violations():
    policy = dataclasses.replace(POLICY, params=jnp.float32(np.nan))
    with pytest.raises(ValueError, match="a return of task 0 is nan; expected a finite number"):
        adaptive(policy=policy)
    found = adaptive(policy=policy, validate=False)
    assert int(found.certificate.num_violations[0]) == 30
    assert Status(int(found.certificate.status[0])) is Status.INVALID_INPUT


def test_many_rollouts_of_one_task_do_not_overflow():
    """Room below 0 would leave all slots free for ever: no round would end the run."""
    state = init(1, B, support=(0, 1))._replace(num_rollouts=jnp.full(1, 2**27, jnp.int32))
    run = Run(state, jnp.int32(2**27), jnp.full(8, -1), jnp.full(8, jnp.nan))
    task, numbers, taken = assign(run, jnp.full(1, 2, jnp.int32), jnp.int32(2**28), 32)
    np.testing.assert_array_equal(task, np.zeros(32))
    np.testing.assert_array_equal(numbers, 2**27 + np.arange(32))
    assert np.all(taken)


# --- successes ----------------------------------------------------------------------------------------------------

DECLARED = dataclasses.replace(COINS, binary=True)


def test_a_declared_environment_has_the_rule_for_successes():
    """With traced levels or too many rollouts it is that for any returns."""
    settings = {**SETTINGS, "give_up": None}
    found = certify_adaptive(DECLARED, POLICY, KEY, B, **settings)
    asked = certify_adaptive(COINS, POLICY, KEY, B, **settings, binary=True)
    for ours, theirs in zip(jax.tree.leaves(found.state), jax.tree.leaves(asked.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert found.state.is_binary
    assert repr(found) == str(found) == repr(found.certificate)
    for change in ({"binary": False}, {"max_rollouts_per_task": 2001}):
        assert not certify_adaptive(DECLARED, POLICY, KEY, B, **{**settings, **change}).state.is_binary
    traced = jax.eval_shape(lambda b: certify_adaptive(DECLARED, POLICY, KEY, b, **settings), jnp.float32(B))
    assert traced.state.bets.shape == (3,)


def test_a_limit_of_rollouts_per_task_follows_from_that_of_all():
    settings = {**SETTINGS, "max_rollouts_per_task": None}
    found = certify_adaptive(DECLARED, POLICY, KEY, B, **settings)
    assert int(found.state.max_rollouts_per_task) == 268  # 4 * 67
    assert found.state.is_binary
    assert [_most_per_task(20, 30), _most_per_task(30, 30), _most_per_task(30_000, 30)] == [4, 4, 2000]


def test_successes_that_nobody_declared_are_noticed(whole):
    hint = "All returns are 0 or 1: a new run with binary=True"
    assert hint in repr(whole)
    assert not whole.state.is_binary
    none_given_up = whole.state._replace(is_open=~whole.state.passed)
    assert hint not in str(dataclasses.replace(whole, state=none_given_up))
    assert hint not in str(dataclasses.replace(whole, rollout_return=0.5 * whole.rollout_return))


def test_a_declared_environment_has_the_support_of_successes_and_no_other_returns():
    with pytest.raises(ValueError, match=r"support is \(0.0, 2.0\); binary returns have \(0, 1\)"):
        dataclasses.replace(DECLARED, support=(0, 2))
    halves = dataclasses.replace(DECLARED, environment=_Half)
    with pytest.raises(ValueError, match=r"a return of task 0 is 0\.5; expected binary returns, 0 or 1"):
        certify_adaptive(halves, POLICY, KEY, B, **SETTINGS)


class _Half(SlowCoin):
    """Half a success."""

    def step(self, state, action):
        return super().step(state, action)._replace(reward=jnp.full_like(state.reward, 0.5), done=jnp.ones((), bool))
