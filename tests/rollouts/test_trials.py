"""Experiments trial by trial: what is recorded, and what it certifies."""

import json

import numpy as np
import pytest
from conftest import x64_context
from logs_of_trials import COINS, LABELS, SCORES, assert_same

from jaxcert import sequential
from jaxcert.rollouts import Trials

pytest.importorskip("filelock")


def made(trials, seed, count=40):
    """Trials as the schedule advises, but for some; one in eight is withdrawn."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        open_ones = [
            label for label, is_open in zip(LABELS, np.asarray(trials.state.is_open), strict=True) if any(is_open)
        ]
        if not open_ones:
            break
        label = trials.next_task() if rng.random() < 0.5 else None
        label = label or open_ones[rng.integers(len(open_ones))]
        quality = (0.9, 0.75, 0.4)[LABELS.index(label)]
        trials.add(
            label, bool(rng.random() < quality) if trials.declared.successes else float(rng.uniform(-0.2, 1) * quality)
        )
        if rng.random() < 0.125:
            trials.undo("unplugged")
    return trials


@pytest.mark.parametrize("begin", [COINS, SCORES], ids=["successes", "scores"])
@pytest.mark.parametrize("seed", range(3))
def test_the_log_gives_the_same_state_to_the_bit(begin, seed, tmp_path):
    trials = made(begin(tmp_path / "log.jsonl"), seed)
    again = Trials(tmp_path / "log.jsonl")
    assert (again.declared, again.trials, again.last_hash) == (trials.declared, trials.trials, trials.last_hash)
    assert_same(again.state, trials.state)
    for count_withdrawn in (False, True):
        assert_same(again.run(count_withdrawn=count_withdrawn), trials.run(count_withdrawn=count_withdrawn))
    assert again.next_task() == trials.next_task()


def test_successes_are_what_certify_sequential_gives(tmp_path):
    """The same returns, task by task, with the same rule."""
    trials = COINS(tmp_path / "log.jsonl", max_trials=30)
    outcomes = np.random.default_rng(0).random((3, 30)) < [[0.9], [0.75], [0.2]]
    for label, row in zip(LABELS, outcomes, strict=True):
        for ok in row.tolist():
            if np.any(trials.state.is_open[LABELS.index(label)]):
                trials.add(label, ok)
    found = sequential.certify_sequential(outcomes, [0.3, 0.6], delta=0.2)
    assert_same(trials.run().certificate, found)
    assert 0 < int(found.num_violations[1]) < 3


def test_trials_that_are_withdrawn_do_not_count(tmp_path):
    one, other = COINS(tmp_path / "one.jsonl"), COINS(tmp_path / "other.jsonl")
    for trials in (one, other):
        trials.add("shelf", True)
        trials.add("table", False)
    one.add("shelf", True)
    one.add("floor", True)
    assert one.undo("mistyped").task == LABELS.index("floor")
    assert one.undo("  the gripper\n was unplugged ").withdrawn == "the gripper was unplugged"
    for trials in (one, other):
        trials.add("floor", False)
    assert_same(one.state, other.state)
    assert [each.number for each in one.withdrawn] == [3, 4]
    assert not other.withdrawn


def test_withdrawn_trials_that_count_are_the_worst(tmp_path):
    one, other = SCORES(tmp_path / "one.jsonl"), SCORES(tmp_path / "other.jsonl")
    for label, score, is_withdrawn in [("shelf", 0.9, False), ("shelf", 0.8, True), ("table", 0.4, False)]:
        one.add(label, score)
        if is_withdrawn:
            one.undo("why not")
        other.add(label, -1.0 if is_withdrawn else score)
    counted = one.run(count_withdrawn=True)
    assert_same(counted.state, other.state)
    np.testing.assert_array_equal(counted.rollout_return, other.run().rollout_return)
    assert int(one.run().state.num_rollouts.sum()) == 2


@pytest.mark.parametrize("begin", [COINS, SCORES], ids=["successes", "scores"])
def test_it_is_an_adaptive_run(begin, tmp_path):
    trials = made(begin(tmp_path / "log.jsonl"), 1)
    for count_withdrawn in (False, True):
        run = trials.run(count_withdrawn=count_withdrawn)
        assert run.tasks["label"].tolist() == LABELS
        assert run.rollout_task.shape == run.rollout_return.shape == (int(run.state.num_rollouts.sum()),)
    assert int(run.num_started) == len(trials.trials) == int(run.state.num_rollouts.sum())


def test_a_log_is_read_in_the_other_precision(tmp_path):
    """Decisions may differ by rounding, a certificate of float32 says no more."""
    trials = made(SCORES(tmp_path / "log.jsonl"), 2)
    with x64_context(True):
        wide = Trials(tmp_path / "log.jsonl")
        assert wide.state.wealth.dtype == np.float64
        assert np.all(np.asarray(trials.state.passed) <= np.asarray(wide.state.passed))
        open_one = next(label for label in LABELS if np.any(wide.state.is_open[LABELS.index(label)]))
        wide.add(open_one, 0.1)
        assert_same(Trials(tmp_path / "log.jsonl").state, wide.state)
    assert len(Trials(tmp_path / "log.jsonl").trials) == len(trials.trials) + 1


def test_the_task_that_is_closest_to_passing_is_next(tmp_path):
    trials = COINS(tmp_path / "log.jsonl")
    for _ in range(3):
        assert trials.next_task() == "shelf"
        trials.add("shelf", True)
    trials.add("shelf", False)
    trials.add("floor", True)
    trials.add("floor", True)
    assert trials.next_task() == "floor"
    while (label := trials.next_task()) is not None:
        trials.add(label, True)
    assert np.all(trials.state.passed)


def test_no_task_is_advised_that_cannot_pass(tmp_path):
    trials = COINS(tmp_path / "log.jsonl", thresholds=0.5, max_trials=10)
    for _ in range(6):
        trials.add("shelf", False) if np.any(trials.state.is_open[0]) else None
    assert trials.next_task() == "table"


def test_two_of_them_share_a_log(tmp_path):
    one = COINS(tmp_path / "log.jsonl")
    other = Trials(tmp_path / "log.jsonl")
    one.add("shelf", True)
    other.add("table", True)
    assert one.undo("mistyped").task == LABELS.index("table")
    other.add("shelf", False)
    one.add("floor", True)
    assert_same(one.state, Trials(tmp_path / "log.jsonl").state)
    assert [(each.number, each.withdrawn) for each in one.trials] == [(1, None), (2, "mistyped"), (4, None), (5, None)]


def test_an_open_support(tmp_path):
    trials = SCORES(tmp_path / "log.jsonl", support=(0.0, np.inf))
    assert json.loads((tmp_path / "log.jsonl").read_text())["support"] == [0.0, None]
    trials.add("shelf", 1e6)
    again = Trials(tmp_path / "log.jsonl")
    assert again.declared.support == (0.0, np.inf)
    assert again.state.passed[0].tolist() == [True, True]
