"""Adaptive runs in files: what comes back, and what is refused."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import COINS, answer
from conftest import x64_context

from jaxcert import sequential
from jaxcert.rollouts import AdaptiveCertificate, Policy, certify_adaptive, load_adaptive, save_adaptive
from jaxcert.tables import read_returns

run = functools.partial(
    certify_adaptive,
    COINS,
    Policy(answer, jnp.float32(1), deterministic=True),
    jax.random.key(3),
    [0.3, 0.5],
    num_tasks=30,
    max_rollouts=1000,
    delta=0.1,
    num_slots=7,
)


@pytest.fixture(scope="module")
def found() -> AdaptiveCertificate:
    return run()


@pytest.fixture
def path(found, tmp_path):
    save_adaptive(tmp_path / "run.npz", found)
    return tmp_path / "run.npz"


def altered(path, to, **changes):
    """The file with these arrays changed, each by a function."""
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(to, **{**arrays, **{name: change(arrays[name]) for name, change in changes.items()}})
    return arrays


def with_fixed(**settings):
    """Changes what was fixed beforehand."""

    def change(about):
        held = json.loads(str(about))
        return np.array(json.dumps({**held, "fixed": {**held["fixed"], **settings}}))

    return change


def rollouts(one: AdaptiveCertificate) -> list[tuple[int, float]]:
    """Those taken in, in their order."""
    task = np.asarray(one.rollout_task)
    pairs = zip(task.tolist(), np.asarray(one.rollout_return).tolist(), strict=True)
    return [(i, x) for i, x in pairs if i >= 0]


def test_what_was_written_comes_back(found, path):
    again = load_adaptive(path)
    assert rollouts(again) == rollouts(found)
    assert again.rollout_task.size == int(found.state.num_rollouts.sum())
    for name in ("certificate", "state", "num_started", "num_unfinished"):
        for ours, theirs in zip(*map(jax.tree.leaves, (getattr(found, name), getattr(again, name))), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    assert again.deterministic is True
    np.testing.assert_array_equal(again.tasks["task"], found.tasks)
    assert str(again) == str(found)
    for ours, theirs in zip(again.growth(), found.growth(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with np.load(path) as arrays:
        about = json.loads(str(arrays["about"]))
    assert about["certificate"] == str(found).splitlines()


def test_one_s_own_run_of_rollouts_made_elsewhere(found, tmp_path):
    """As on a robot: NumPy arrays, tasks by name or none at all."""
    own = jax.tree.map(np.asarray, found)
    named = {"door": np.array([f"door {i}" for i in range(30)]), "pose": np.zeros((30, 2), jnp.bfloat16)}
    for tasks in (None, named):
        fields = {name: getattr(own, name) for name in own.__dataclass_fields__}
        save_adaptive(tmp_path / "own.npz", AdaptiveCertificate(**{**fields, "tasks": tasks}))
        again = load_adaptive(tmp_path / "own.npz")
        assert set(again.tasks) == (set() if tasks is None else {"door", "pose_0", "pose_1"})
    assert again.tasks["door"][3] == "door 3"
    keys = jax.random.split(jax.random.key(1), 30)
    save_adaptive(tmp_path / "own.npz", AdaptiveCertificate(**{**fields, "tasks": keys}))
    columns = load_adaptive(tmp_path / "own.npz").tasks
    np.testing.assert_array_equal(np.stack([*columns.values()], axis=1), jax.random.key_data(keys))
    for tasks in (1.0, np.array([None] * 30), {"a": [1.0], "a_0": 3.0}):
        with pytest.raises(ValueError, match=r"of the tasks is .*; expected \[n, \.\.\.\]"):
            save_adaptive(tmp_path / "own.npz", AdaptiveCertificate(**{**fields, "tasks": tasks}))
    with pytest.raises(ValueError, match=r"'task_door' has shape \(29,\), expected \(30,\): one row per task"):
        save_adaptive(tmp_path / "own.npz", AdaptiveCertificate(**{**fields, "tasks": {"door": np.zeros(29)}}))
    twice = {"a": np.zeros((30, 2)), "a_0": np.zeros(30)}
    with pytest.raises(ValueError, match="two parameters of the tasks are called a_0"):
        save_adaptive(tmp_path / "own.npz", AdaptiveCertificate(**{**fields, "tasks": twice}))


def test_what_cannot_be_written_is_refused(found, tmp_path):
    with pytest.raises(ValueError, match="found is a str"):
        save_adaptive(tmp_path / "run.npz", "found")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="or traced"):
        jax.jit(lambda one: save_adaptive(tmp_path / "run.npz", one))(found)
    with pytest.raises(ValueError, match="does not exist"):
        save_adaptive(tmp_path / "none" / "run.npz", found)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rollout_task", lambda x: x[:-1], "rollout_return' is float32 of shape"),
        ("rollout_task", lambda x: x.astype(np.int64), "rollout_task' is int64"),
        ("rollout_task", lambda x: np.where(np.arange(x.size) == 0, 30, x).astype(np.int32), "numbers that no"),
        ("rollout_task", lambda x: np.where(np.arange(x.size) == 0, -1, x).astype(np.int32), "numbers that no"),
        ("rollout_return", lambda x: x.astype(np.float64), "'delta' is float32 of shape .*, expected float64"),
        ("num_unfinished", lambda x: np.int32(-1), "numbers that no adaptive run gives"),
        ("delta", lambda x: np.float32(1), "numbers that no adaptive run gives"),
        ("num_tasks", lambda x: x - 1, "numbers that no adaptive run gives"),
        ("num_tasks", lambda x: np.int32(0), "numbers that no adaptive run gives"),
        ("num_tasks", lambda x: np.int32(2**30), "numbers that no adaptive run gives"),
        ("num_tasks", lambda x: x + 1, r"expected \(31,\): one row per task"),
        ("num_started", lambda x: np.int32(3), "numbers that no adaptive run gives"),
        ("num_unfinished", lambda x: x + np.int32(1000), "numbers that no adaptive run gives"),
        ("delta", lambda x: np.float32(np.nan), "numbers that no adaptive run gives"),
        ("about", with_fixed(beta=2), "beta is 2; expected a probability"),
        ("about", with_fixed(bets=[-0.5]), "bets hold -0.5; expected numbers in"),
        ("about", with_fixed(bets="all"), "bets is 'all'; expected a list of numbers"),
        ("about", with_fixed(support=[2, 1]), r"support is \(2, 1\)"),
        ("about", with_fixed(support=[0, 2], binary=True), "binary returns have"),
        ("about", with_fixed(thresholds=[]), "thresholds is .*; expected a list of numbers"),
        ("about", with_fixed(give_up=1), "give_up is 1.0; expected a number in"),
        ("about", with_fixed(binary=True, max_rollouts_per_task=3000), "binary needs a number of at most 2000"),
        ("about", lambda x: np.array('{"format": "jaxcert-adaptive-1"}'), "is of no adaptive run"),
        (
            "about",
            lambda x: np.array(str(x).replace("true", "3")),
            "or does not say whether its policy is deterministic",
        ),
    ],
)
def test_other_arrays_are_refused(path, tmp_path, name, change, message):
    arrays = altered(path, tmp_path / "other.npz", **{name: change})
    with pytest.raises(ValueError, match=message):
        load_adaptive(tmp_path / "other.npz")
    del arrays[name]
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ValueError, match=f"has no array '{name}'"):
        load_adaptive(tmp_path / "other.npz")


def test_the_log_counts_and_not_what_the_file_says_of_it(found, path):
    altered(path, path, about=lambda x: np.array(str(x).replace("at least", "at most")))
    again = load_adaptive(path)
    for ours, theirs in zip(*map(jax.tree.leaves, (found.certificate, again.certificate)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_other_rollouts_give_another_state(found, path):
    arrays = altered(path, path, rollout_return=np.zeros_like)
    assert not load_adaptive(path).state.passed.any()
    altered(path, path, rollout_return=lambda x: x + np.float32(2))  # beyond the support
    assert not load_adaptive(path).state.valid.any()
    first = np.where(arrays["rollout_task"] == 0, np.nan, 1).astype(np.float32)
    altered(path, path, rollout_return=lambda x: first)
    valid = np.asarray(load_adaptive(path).state.valid)
    assert not valid[0]
    assert valid[1:].all()


def test_a_run_of_64_bits_is_not_narrowed(tmp_path):
    with x64_context(True):
        state = sequential.init(20, np.float64(0.5), support=(0, 1))
        count, log = np.int32(0), np.zeros(0, np.int32)
        begun = {"num_started": count, "num_unfinished": count}
        begun |= {"rollout_task": log, "rollout_return": log.astype(np.float64)}
        certificate = sequential.certificate(state, 0.1)
        wide = AdaptiveCertificate(certificate=certificate, state=state, tasks=None, deterministic=None, **begun)
        save_adaptive(tmp_path / "wide.npz", wide)
        assert load_adaptive(tmp_path / "wide.npz").rollout_return.dtype == np.float64
    with pytest.raises(ValueError, match=r"wide\.npz: holds numbers of 64 bits; expected jax_enable_x64 to be on"):
        load_adaptive(tmp_path / "wide.npz")


def test_an_adaptive_run_is_no_file_of_returns(path):
    with pytest.raises(ValueError, match=r"run\.npz: holds an adaptive run, whose returns are no sample of a fixed"):
        read_returns(path)
