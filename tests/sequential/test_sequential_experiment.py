"""The state in loops of one's own: the same as recorded returns, in any schedule, on the device and through a file."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import x64_context

from jaxcert import Status, sequential

X = np.random.default_rng(0).beta(8, 2, (12, 40)).astype(np.float32)
SUPPORT, THRESHOLDS = (0.0, 1.0), [0.6, 0.75]


def begin() -> sequential.SequentialState:
    return sequential.init(12, THRESHOLDS, support=SUPPORT, beta=0.1)


def assert_same(one, other) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


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
    with pytest.raises(ValueError, match=r"the return of task 3 is 0\.5; expected 0 or 1"):
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


def test_many_experiments_at_once():
    states = jax.vmap(lambda b: sequential.init(12, b, support=SUPPORT, beta=0.1))(jnp.asarray(THRESHOLDS)[:, None])
    for j in range(5):
        update = lambda state: sequential.update(state, X[:, j], np.arange(12))  # noqa: B023, E731
        states = jax.vmap(update)(states)
    found = jax.vmap(lambda state: sequential.certificate(state, 0.1))(states)
    together = begin()
    for j in range(5):
        together = sequential.update(together, X[:, j], np.arange(12))
    np.testing.assert_array_equal(states.passed[..., 0].T, together.passed)
    assert found.safety.shape == (2, 1)


def test_a_file_of_what_load_refuses_is_not_written(tmp_path):
    many = jax.vmap(lambda b: sequential.init(5, b, support=SUPPORT))(jnp.asarray([[0.3], [0.6]]))
    for state, message in ((many, "those of one experiment"), ({}, "expected a concrete SequentialState")):
        with pytest.raises(ValueError, match=message):
            sequential.save(tmp_path / "file.npz", state)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="or traced"):
        jax.jit(lambda b: sequential.save(tmp_path / "file.npz", sequential.init(5, b, support=SUPPORT)))(0.5)
    assert not list(tmp_path.iterdir())


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
    path = tmp_path / "experiment.npz"
    state = sequential.init(12, np.asarray(THRESHOLDS, precision), support=SUPPORT)
    state = sequential.update(state, X[:, 0], np.arange(12))
    sequential.save(path, state)
    again = sequential.load(path)
    assert_same(state, again)
    assert again.wealth.dtype == precision
    assert_same(*(sequential.update(s, X[:, 1], np.arange(12)) for s in (state, again)))
    assert [file.name for file in tmp_path.iterdir()] == ["experiment.npz"]


def test_files_that_hold_something_else_are_refused(tmp_path):
    sequential.save(tmp_path / "state.npz", begin())
    arrays = dict(np.load(tmp_path / "state.npz"))
    for name, value, message in (
        ("wealth", arrays["wealth"][:, :1], "array 'wealth' is float32 of shape"),
        ("wealth", -arrays["wealth"], "numbers that no experiment gives"),
        ("wealth", np.full_like(arrays["wealth"], np.nan), "numbers that no experiment gives"),
        ("passed", arrays["passed"].astype(int), "array 'passed' is int64"),
        ("beta", np.float32(1.5), "numbers that no experiment gives"),
        ("valid", np.array([object()]), "pickled objects"),
        ("valid", np.ones(0, bool), "those of one experiment"),
        ("thresholds", np.full(2, np.nan, np.float32), "numbers that no experiment gives"),
        ("num_rollouts_used", -1 - arrays["num_rollouts_used"], "numbers that no experiment gives"),
        ("passed", ~arrays["passed"], "numbers that no experiment gives"),
        ("num_rollouts", arrays["num_rollouts"] + 1, "numbers that no experiment gives"),
    ):
        np.savez(tmp_path / "other.npz", **{**arrays, name: value})
        with pytest.raises(ValueError, match=message):
            sequential.load(tmp_path / "other.npz")
    for missing in ("about", "wealth"):
        np.savez(tmp_path / "other.npz", **{name: array for name, array in arrays.items() if name != missing})
        with pytest.raises(ValueError, match=f"has no array '{missing}'"):
            sequential.load(tmp_path / "other.npz")


def test_tasks_that_passed_without_the_wealth_for_it_are_refused(tmp_path):
    state = sequential.update(begin(), jnp.zeros(5), jnp.arange(5))
    everything = state._replace(passed=jnp.ones_like(state.passed), is_open=jnp.zeros_like(state.is_open))
    with pytest.raises(ValueError, match="numbers that no experiment gives"):
        sequential.save(tmp_path / "file.npz", everything)


@pytest.mark.parametrize("change", [{"goal": 0.9}, {"support": 2.0}, {"max_rollouts_per_task": 3000}])
def test_goals_that_are_too_small_for_their_rule_are_refused(tmp_path, change):
    """Files are read by others than who wrote them."""
    coins = {"binary": True, "max_rollouts_per_task": 60}
    for rule in (coins, {}) if "goal" in change else (coins,):
        state = sequential.init(3, [0.5, 0.8], support=SUPPORT, **rule)
        sequential.save(tmp_path / "file.npz", state)
        bad = {
            "goal": state.goal * change.get("goal", 1.0),
            "high": state.high * change.get("support", 1.0),
            "max_rollouts_per_task": jnp.int32(change.get("max_rollouts_per_task", state.max_rollouts_per_task)),
        }
        with pytest.raises(ValueError, match="numbers that no experiment gives"):
            sequential.save(tmp_path / "other.npz", state._replace(**bad))


def test_a_state_of_64_bits_is_not_narrowed(tmp_path):
    with x64_context(True):
        sequential.save(tmp_path / "wide.npz", sequential.init(3, np.float64(0.5), support=SUPPORT))
    with x64_context(False), pytest.raises(ValueError, match="expected jax_enable_x64 to be on"):
        sequential.load(tmp_path / "wide.npz")


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
