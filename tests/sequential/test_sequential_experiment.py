"""The state in loops of one's own: the same as recorded returns, in any schedule, on the device and through a file."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts.logs_of_trials import assert_same

from jaxcert import Status, sequential

X = np.random.default_rng(0).beta(8, 2, (12, 40)).astype(np.float32)
SUPPORT, THRESHOLDS = (0.0, 1.0), [0.6, 0.75]


def begin() -> sequential.SequentialState:
    return sequential.init(12, THRESHOLDS, support=SUPPORT, beta=0.1)


def run(state, order):
    """One rollout after another, each the next of its task."""
    count = np.zeros(12, int)
    for task in order:
        state = sequential.update(state, jnp.asarray([X[task, count[task]]]), jnp.asarray([task]))
        count[task] += 1
    return state


def test_any_schedule_ends_where_the_recorded_returns_do():
    recorded = sequential.certify_sequential(X[:, :6], THRESHOLDS, support=SUPPORT, delta=0.1, beta=0.1, give_up=0.0)
    in_turns = run(begin(), np.tile(np.arange(12), 6))
    shuffled = run(begin(), np.random.default_rng(1).permutation(np.repeat(np.arange(12), 6)))
    assert_same(in_turns, shuffled)
    found = sequential.certificate(in_turns, 0.1)
    np.testing.assert_array_equal(found.num_violations, recorded.num_violations)
    np.testing.assert_array_equal(found.num_rollouts_used, recorded.num_rollouts_used)
    np.testing.assert_allclose(found.epsilon, recorded.epsilon, rtol=1e-6)


def test_in_a_scan_with_idle_slots():
    """Slots take tasks that are open; a slot without work is marked by -1."""

    @jax.jit
    def whole(state):
        def step(state, j):
            open_tasks = jnp.any(state.is_open, axis=-1)
            tasks = jnp.where(open_tasks, jnp.arange(12), -1)
            return sequential.update(state, jnp.asarray(X)[:, j], tasks), jnp.sum(open_tasks)

        return jax.lax.scan(step, state, jnp.arange(40))

    state, worked = whole(begin())
    assert int(state.passed.sum()) > 12
    assert int(worked[-1]) < 12
    by_hand = begin()
    for j in range(40):
        tasks = np.where(np.asarray(by_hand.is_open).any(-1), np.arange(12), -1)
        by_hand = sequential.update(by_hand, X[:, j], tasks)
    assert_same(state, by_hand)


def test_a_certificate_only_grows_while_returns_are_possible():
    state, last = begin(), 0.0
    for j in range(40):
        state = sequential.update(state, X[:, j], np.arange(12))
        safety = float(sequential.certificate(state, 0.1).safety[0])
        assert safety >= last
        last = safety
    assert last > 0.7


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.1])
def test_an_impossible_return_is_a_violation_for_good_or_voids_the_certificate(value):
    returns, tasks = jnp.asarray([value, 1.0]), jnp.asarray([3, 4])
    with pytest.raises(ValueError, match="the return of task 3 is"):
        sequential.update(begin(), returns, tasks)
    state = sequential.update(begin(), returns, tasks, validate=False)
    for _ in range(30):
        state = sequential.update(state, jnp.ones(12), jnp.arange(12))
    assert np.asarray(state.passed[3]).tolist() == [False, False]
    assert bool(state.passed[4].all()) == np.isnan(value)
    found = sequential.certificate(state, 0.1)
    assert int(found.num_violations[0]) == (1 if np.isnan(value) else 12)
    assert np.all(np.asarray(found.status) == Status.INVALID_INPUT)


def test_binary_returns_are_0_or_1():
    state = sequential.init(12, 0.5, support=SUPPORT, binary=True, max_rollouts_per_task=9)
    with pytest.raises(ValueError, match=r"the return of task 3 is 0\.5; expected binary returns, 0 or 1"):
        sequential.update(state, jnp.asarray([1.0, 0.5]), jnp.asarray([2, 3]))
    state = sequential.update(state, jnp.asarray([1.0, 0.5]), jnp.asarray([2, 3]), validate=False)
    assert not np.asarray(state.valid).any()


def test_what_cannot_be_refused_under_a_trace_makes_violations():
    update = jax.jit(sequential.update)
    twice = update(begin(), jnp.ones(2), jnp.asarray([5, 5]))
    assert np.flatnonzero(~np.asarray(twice.valid)).tolist() == [5]
    assert not np.asarray(twice.is_open)[5].any()
    for number in (12, -2):
        state = update(begin(), jnp.ones(1), jnp.asarray([number]))
        assert not bool(state.valid.any() | state.is_open.any() | state.passed.any())
    with pytest.raises(ValueError, match="tasks have dtype uint32"):
        update(begin(), jnp.ones(1), jnp.asarray([3], jnp.uint32))


@pytest.mark.parametrize("low", [2.0, np.inf, np.nan])
def test_a_traced_support_that_is_none_certifies_nothing(low):
    call = lambda low: sequential.certificate(sequential.init(20, 0.5, support=(low, 1.0)), 0.1).safety  # noqa: E731
    assert float(jax.jit(call)(low)[0]) == 0


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_integers_of_any_type_name_tasks(kind):
    state = sequential.init(200, 0.5, support=SUPPORT)
    updated = sequential.update(state, np.ones(2), np.array([3, 100], kind))
    assert np.flatnonzero(np.asarray(updated.num_rollouts_used)).tolist() == [3, 100]


def test_idle_slots_change_nothing():
    update = jax.jit(sequential.update)
    assert_same(update(begin(), jnp.full(1, np.nan), jnp.asarray([-1])), begin())


@pytest.mark.parametrize(
    ("returns", "tasks", "message"),
    [
        ([0.5, 0.5], [1, 1], "tasks hold 1 twice"),
        ([0.5], [12], "tasks hold 12; expected numbers below 12"),
        ([0.5], [-2], "tasks hold -2; expected numbers below 12, or -1 for none"),
        ([0.5], [2**32 + 3], "tasks hold 4294967299"),
        ([0.5], ["a"], "tasks has dtype"),
        ([0.5, 0.5], [1], "expected returns"),
        ([0.5], [1.0], "expected returns"),
        ([0.5 + 1j], [1], "returns has dtype complex"),
    ],
)
def test_what_update_refuses(returns, tasks, message):
    with pytest.raises(ValueError, match=message):
        sequential.update(begin(), np.asarray(returns), np.asarray(tasks))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"thresholds": np.inf}, "thresholds is inf"),
        ({"support": (1, 0)}, "expected a < b"),
        ({"support": (-1e39, 1)}, "expected numbers within the range of float32"),
        ({"beta": 1.0}, "beta is 1"),
        ({"bets": iter([])}, "expected a list of numbers"),
        ({"bets": iter([2.0])}, "bets hold 2.0"),
        ({"bets": [0.5, "predictable"]}, r"bets hold 'predictable'; expected numbers in \(0, 1\]"),
    ],
)
def test_what_init_refuses(arguments, message):
    given = {"num_tasks": 5, "thresholds": 0.5, "support": SUPPORT, **arguments}
    with pytest.raises(ValueError, match=message):
        sequential.init(given.pop("num_tasks"), given.pop("thresholds"), **given)
    with pytest.raises(ValueError, match="delta is 2"):
        sequential.certificate(begin(), 2.0)


# --- files --------------------------------------------------------------------------------------------------------


def test_a_state_goes_on_after_a_file(tmp_path, precision):
    """A file of NumPy's, as the page on few rollouts writes it."""
    state = sequential.init(12, np.asarray(THRESHOLDS, precision), support=SUPPORT)
    state = sequential.update(state, X[:, 0], np.arange(12))
    np.savez(tmp_path / "experiment.npz", **state._asdict())
    again = sequential.SequentialState(**np.load(tmp_path / "experiment.npz"))
    assert_same(state, again)
    assert again.wealth.dtype == precision
    assert_same(*(sequential.update(s, X[:, 1], np.arange(12)) for s in (state, again)))
    assert_same(*(sequential.certificate(s, 0.1) for s in (state, again)))


@pytest.mark.parametrize(
    ("rule", "violations"),
    [
        ({}, [1, 1]),  # who passes 0.75 has passed 0.6 as well
        ({"binary": True, "max_rollouts_per_task": 50}, [2, 2]),  # all up to a threshold have to be passed
    ],
    ids=["fixed", "binary"],
)
def test_a_larger_threshold_counts_for_smaller_ones_where_the_wealth_falls_with_it(rule, violations):
    state = sequential.init(2, THRESHOLDS, support=SUPPORT, **rule)
    passed = np.array([[False, True], [False, False]])
    found = sequential.certificate(state._replace(passed=jnp.asarray(passed)), 0.1)
    np.testing.assert_array_equal(found.num_violations, violations)
    both = sequential.certificate(state._replace(passed=jnp.asarray([[True, True], [True, False]])), 0.1)
    np.testing.assert_array_equal(both.num_violations, [0, 1])
