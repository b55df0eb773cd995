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
def test_an_impossible_return_makes_its_task_a_violation_for_good(value):
    state = sequential.update(begin(), jnp.asarray([value, 1.0]), jnp.asarray([3, 4]))
    for _ in range(30):
        state = sequential.update(state, jnp.ones(12), jnp.arange(12))
    assert np.asarray(state.passed[3]).tolist() == [False, False]
    assert bool(state.passed[4].all())
    found = sequential.certificate(state, 0.1)
    assert int(found.num_violations[0]) == 1
    assert np.all(np.asarray(found.status) == Status.INVALID_INPUT)


def test_what_cannot_be_refused_under_a_trace_makes_violations():
    update = jax.jit(sequential.update)
    twice = update(begin(), jnp.ones(2), jnp.asarray([5, 5]))
    assert np.flatnonzero(~np.asarray(twice.valid)).tolist() == [5]
    assert not bool(update(begin(), jnp.ones(1), jnp.asarray([12])).valid.any())
    assert_same(update(begin(), jnp.full(1, np.nan), jnp.asarray([-1])), begin())


@pytest.mark.parametrize(
    ("returns", "tasks", "message"),
    [
        ([0.5, 0.5], [1, 1], "tasks hold 1 twice"),
        ([0.5], [12], "tasks hold 12; expected numbers below 12"),
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
        ({"beta": 1.0}, "beta is 1"),
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


def test_a_file_cut_short_anywhere_is_refused(tmp_path):
    whole, cut = tmp_path / "whole.npz", tmp_path / "cut.npz"
    sequential.save(whole, begin())
    content = whole.read_bytes()
    for length in (*range(0, len(content), 97), len(content) - 1):
        cut.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"cut\.npz: "):
            sequential.load(cut)


def test_files_that_hold_something_else_are_refused(tmp_path):
    arrays = {name: np.asarray(array) for name, array in begin()._asdict().items()}
    for name, value, message in (
        ("wealth", arrays["wealth"][:, :1], "array 'wealth' is float32 of shape"),
        ("wealth", -arrays["wealth"], "numbers that no experiment gives"),
        ("wealth", np.full_like(arrays["wealth"], np.nan), "numbers that no experiment gives"),
        ("passed", arrays["passed"].astype(int), "array 'passed' is int64"),
        ("beta", np.float32(1.5), "numbers that no experiment gives"),
        ("valid", np.array([object()]), "pickled objects"),
    ):
        np.savez(tmp_path / "other.npz", **{**arrays, name: value})
        with pytest.raises(ValueError, match=message):
            sequential.load(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", returns=X)
    with pytest.raises(ValueError, match="has no array 'wealth'"):
        sequential.load(tmp_path / "other.npz")


def test_a_state_of_64_bits_is_not_narrowed(tmp_path):
    with x64_context(True):
        sequential.save(tmp_path / "wide.npz", sequential.init(3, np.float64(0.5), support=SUPPORT))
    with x64_context(False), pytest.raises(ValueError, match="expected jax_enable_x64 to be on"):
        sequential.load(tmp_path / "wide.npz")
