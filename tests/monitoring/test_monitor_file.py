"""A monitor in a file: the same evidence as in a loop, after interruptions, and what such a file may not hold."""

import functools

import numpy as np
import pytest
from chained_logs import entries_of, log_of

from jaxcert.monitoring import Monitor, MonitoredClaim, evidence, init, update

pytest.importorskip("filelock")

CLAIM = MonitoredClaim(0.5, 0.1, 0.01)
COINS = functools.partial(Monitor.start, claim=CLAIM, successes=True, num_rollouts=3, complete=True)
SCORES = functools.partial(Monitor.start, claim=CLAIM, support=(0, 1), num_rollouts=3, complete=True)
SINGLE = functools.partial(Monitor.start, claim=CLAIM, support=(0, 1), complete=True)


def tasks_for(monitor, count=300, seed=0):
    values = np.random.default_rng(seed).uniform(size=(count, monitor.declared.num_rollouts))
    values = (values < 0.8).astype(float) if monitor.declared.successes else values
    return [(f"task {i}", row.tolist()) for i, row in enumerate(values)]


def logs(rows):
    return [(row.log_evidence, row.log_change) for row in rows]


@pytest.mark.parametrize("begin", [COINS, SCORES, SINGLE], ids=["successes", "scores", "single"])
def test_a_file_says_what_a_loop_says_however_it_is_cut(begin, tmp_path, precision):
    whole, cut = begin(tmp_path / "whole"), begin(tmp_path / "cut")
    tasks = tasks_for(whole)
    rows = whole.add(tasks)
    assert [row.number for row in rows] == list(range(1, 301))
    for first in range(0, 300, 37):
        cut = Monitor(tmp_path / "cut") if first % 2 else cut
        cut.add(tasks[first : first + 37])
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()
    assert Monitor(tmp_path / "cut").rows == whole.rows == cut.rows
    d = whole.declared
    state = init(0.5, 0.1, support=None if d.successes else (0, 1), successes=d.successes,
                 num_rollouts=d.num_rollouts, complete=True)  # fmt: skip
    for _, returns in tasks[:40]:
        state = update(state, np.asarray(returns))
    found = evidence(state)
    slack = 1e-4 if precision == "float32" else 1e-11
    assert np.allclose(logs(rows)[39], (found.log_evidence, found.log_change), rtol=0, atol=slack)
    assert sum(row.is_against for row in rows[:40]) == int(found.num_against)


def test_tasks_that_are_sent_again_count_once(tmp_path):
    monitor = COINS(tmp_path / "log")
    tasks = tasks_for(monitor, 5)
    assert len(monitor.add(tasks[:3])) == 3
    assert [row.label for row in monitor.add([*tasks, tasks[4]])] == ["task 3", "task 4"]
    before = (tmp_path / "log").read_bytes()
    label, returns = tasks[0]
    with pytest.raises(ValueError, match=r"task task 0 is recorded with returns .*; expected the same, not"):
        monitor.add([("new", [1, 1, 1]), (label, [1 - x for x in returns])])
    assert (tmp_path / "log").read_bytes() == before


def test_tasks_that_were_interrupted_count_once(tmp_path, monkeypatch):
    monitor = COINS(tmp_path / "log")
    tasks = tasks_for(monitor, 4)

    def interrupted(state, tasks, _):
        if tasks:
            raise KeyboardInterrupt
        return state, []

    with monkeypatch.context() as patch:
        patch.setattr("jaxcert.monitoring._monitor.rows_after", interrupted)
        with pytest.raises(KeyboardInterrupt):
            monitor.add(tasks[:2])
    assert [row.label for row in monitor.add(tasks)] == ["task 2", "task 3"]
    assert monitor.rows == Monitor(tmp_path / "log").rows


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", "another", "its format is 'another'; expected"),
        ("claim", [1], "its claim is \\[1\\]; expected its numbers threshold, epsilon, delta"),
        *((f"claim.{part}", "x", f"{part} of its claim is 'x'") for part in ("threshold", "epsilon", "delta")),
        *(("claim.delta", value, "expected a number in \\[0, 1\\)") for value in (-0.5, 1)),
        ("claim.delta", None, "delta of its claim is None; expected a number"),
        ("claim.delta", 10**500, "delta of its claim is 10000.*; expected a number"),
        ("claim.delta", 0.96, "expected less than 1 together"),
        ("claim.threshold", [0.5, 0.6], "threshold of its claim is .*; expected a number"),
        ("support", [0, 1, 2], "support is .*; expected a list of 2 numbers"),
        ("support", ["a", "b"], "support is .*; expected a list of 2 numbers"),
        ("support", [0, 2], "support is .*; the monitor began with"),
        ("successes", "yes", "successes is 'yes'; expected true or false"),
        ("num_rollouts", 10**9, "num_rollouts is 1000000000; expected at most 100000 of a task"),
        ("num_rollouts", 3.0, "num_rollouts is 3.0; expected a whole number"),
        ("most_successes", 2, "most_successes is 0; the monitor began with 2, which is fixed"),
        ("most_successes", 10**400, "most_successes is 1000.*; expected a whole number"),
        ("alpha", True, "alpha is True; expected a number"),
        ("certificate_sha256", "00", "certificate_sha256 is '00'; expected 64 hexadecimal digits"),
    ],
)
def test_what_a_file_declares_is_checked(name, value, message, tmp_path):
    COINS(tmp_path / "log")
    (first,) = entries_of(tmp_path / "log")
    *within, name = name.split(".")
    (first["claim"] if within else first)[name] = value
    (tmp_path / "log").write_bytes(log_of([first]))
    with pytest.raises(ValueError, match=f"line 1 is no entry of a monitor: .*{message}"):
        Monitor(tmp_path / "log")


def test_tasks_of_an_altered_file_are_checked(tmp_path):
    monitor = COINS(tmp_path / "log")
    monitor.add(tasks := tasks_for(monitor, 3))
    assert not monitor.add([(f"{label} \u200b", returns) for label, returns in tasks])  # spelled as nobody sees
    entries = entries_of(tmp_path / "log")
    for name, value, message in (
        ("task", "task 1", "line 4 is no entry of a monitor: the task 'task 1' occurs twice; expected each task once"),
        ("task", "task 1\u200b", "occurs twice; expected each task once"),
        ("returns", [10**400, 1, 1], "line 4 is no entry of a monitor: expected a task with its label and its returns"),
    ):
        (tmp_path / "bad").write_bytes(log_of([*entries[:3], {**entries[3], name: value}]))
        with pytest.raises(ValueError, match=message):
            Monitor(tmp_path / "bad")


def test_words_are_those_of_the_claim_that_is_given_or_of_its_numbers(tmp_path):
    claim = CLAIM._replace(words="robots do well")
    assert "the claim that robots do well (0 tasks" in str(COINS(tmp_path / "log", claim=claim))
    entries = entries_of(tmp_path / "log")
    assert "words" not in entries[0]["claim"]
    entries[0]["claim"]["words"] = 5
    (tmp_path / "log").write_bytes(log_of(entries))
    said = "the claim that on a new task, the performance is below 0.5 with probability at most 0.1 (0"
    assert said in str(Monitor(tmp_path / "log"))
    assert "the claim that robots do well (0 tasks" in str(Monitor(tmp_path / "log", claim=claim))
    with pytest.raises(ValueError, match=r"delta of its claim is 0\.01\d*; the claim that was given has 0\.02"):
        Monitor(tmp_path / "log", claim=claim._replace(delta=0.02))


def test_refused(tmp_path):
    monitor = COINS(tmp_path / "log")
    for message, task in {
        "task a has 2 rollouts; expected 3": ("a", [0, 1]),
        r"returns\[1\] of task a is 0.5; expected binary returns, 0 or 1": ("a", [0, 0.5, 1]),
        "the label of a task is ''; expected a text": ("", [0, 0, 0]),
    }.items():
        with pytest.raises(ValueError, match=message):
            monitor.add([("b", [1, 1, 1]), task])
    assert monitor.rows == Monitor(tmp_path / "log").rows == []
    with pytest.raises(FileExistsError, match="exists, and is not replaced"):
        COINS(tmp_path / "log")
    with pytest.raises(ValueError, match=r"alpha is 0\.995, and delta 0\.01; expected less than 1 together"):
        COINS(tmp_path / "other", alpha=0.995)
    with pytest.raises(ValueError, match="num_rollouts is 1000000000; expected at most 100000"):
        COINS(tmp_path / "other", num_rollouts=10**9)


def test_the_sentence_says_the_confidence_of_both(tmp_path):
    monitor = COINS(tmp_path / "log", alpha=0.04)
    assert str(monitor).startswith("No alarm: nothing speaks enough against the claim that on a new task")
    assert "confidence in both the certificate and the alarm: 0.95" in str(monitor)
    own = COINS(tmp_path / "own", claim=MonitoredClaim(0.5, 0.1), alpha=0.04)
    assert "confidence in the alarm: 0.96; the claim is taken as it was given" in str(own)
    monitor.add([(str(i), [0, 0, 0]) for i in range(9)])
    assert str(monitor).startswith("ALARM after task ")
    assert "with confidence 0.95 (1 - delta - alpha)" in str(monitor)
    assert "(9 tasks, 9 of them against it)" in str(monitor)
