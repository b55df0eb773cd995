"""Logs of trials that were cut short, damaged or altered, and processes that were killed while they wrote them."""

import functools
import random
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from chained_logs import append, declare_otherwise

from jaxcert import _chained
from jaxcert._chained import lines_of
from jaxcert.rollouts import Trials

pytest.importorskip("filelock")

LABELS = ["shelf", "tische – ü", 'quo"te\\']
COINS = functools.partial(Trials.start, tasks=LABELS, thresholds=[0.3, 0.6], successes=True, delta=0.2)


@pytest.fixture
def path(tmp_path):
    """A log of seven lines, of which the last is a trial and the one before it a withdrawal."""
    trials = COINS(tmp_path / "log.jsonl")
    for label, ok in ((0, True), (1, False), (2, True), (1, True)):
        trials.add(LABELS[label], ok)
    trials.undo('mistyped “\\n" ü')
    trials.add(LABELS[2], True)
    return tmp_path / "log.jsonl"


def outcome(path):
    """What a log says, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Trials(path)
    return found, [str(warning.message) for warning in caught]


def test_cut_at_every_byte(path):
    """As many whole lines count as there are, and the rest is what was cut short."""
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    ends = np.cumsum([len(line) for line in lines])
    whole = {}
    for size in range(1, len(content) + 1):
        count = int(np.sum(ends <= size + 1))  # a line that lacks only its ending is whole
        kept, torn = lines_of(content[:size])
        assert (len([line for line in kept if line]), torn) == (count, content[ends[count - 1] if count else 0 : size])
        if size >= ends[-2]:  # of the last line
            path.write_bytes(content[:size])
            found, told = outcome(path)
            assert bool(told) == bool(torn)
            assert found.trials == whole.setdefault(count, found.trials)
    assert [len(trials) for trials in whole.values()] == [4, 5]


@pytest.mark.parametrize("cut", [1, 2, 40, 100])
def test_what_was_cut_short_is_told_and_replaced(path, cut):
    content = path.read_bytes()
    *_, before, last = content.splitlines(keepends=True)
    path.write_bytes(content[:-cut])
    found, told = outcome(path)
    if cut == 1:  # only its ending
        assert told == []
        assert len(found.trials) == 5
    else:
        assert len(told) == 1
        assert told[0].startswith(f"{path}: its last line is incomplete, being written or cut short, and does not")
        assert len(found.trials) == 4
        with pytest.warns(UserWarning, match="its last line was incomplete, and is cut off"):
            found.add(LABELS[2], False)
    assert path.read_bytes().startswith(content[: -len(last)])
    if cut == 1:
        found.add(LABELS[2], False)
    again, told = outcome(path)
    assert told == []
    assert again.trials == found.trials
    assert before in path.read_bytes()


def test_one_that_looks_on_does_not_cut(path):
    """Another process may be writing the line."""
    content = path.read_bytes()
    looking = Trials(path)
    path.write_bytes(content[:-30])
    outcome(path)
    assert path.read_bytes() == content[:-30]
    path.write_bytes(content)  # the line is written
    looking.add(LABELS[0], True)
    assert len(Trials(path).trials) == 6


def test_an_altered_line_is_found(path):
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    altered = {
        "a trial": content.replace(b'"success": false', b'"success": true '),
        "a time": re.sub(rb'"time": "\d', b'"time": "9', content),
        "a threshold": content.replace(b"[0.3, 0.6]", b"[0.3, 0.5]"),
        "one is missing": b"".join(lines[:3] + lines[4:]),
        "two change places": b"".join([*lines[:3], lines[4], lines[3], *lines[5:]]),
        "one twice": b"".join([*lines[:4], *lines[3:]]),
        "an empty one": b"".join([*lines[:4], b"\n", *lines[4:]]),
        "a damaged end": content[:-20] + b"\0" * 20,
    }
    for name, other in altered.items():
        assert other != content, name
        path.write_bytes(other)
        with pytest.raises(ValueError, match=r"log\.jsonl: line \d is no entry of a log of trials: "):
            Trials(path)
        assert path.read_bytes() == other, name


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"task": "tabel", "success": True}, "its task is 'tabel', which was not declared"),
        ({"task": "shelf", "success": 1}, "the trial has the score 1; expected a success or a failure"),
        ({"task": "shelf", "score": 0.5}, "the trial has the score None; expected a success or a failure"),
        ({"withdrawn": 1, "why": "a reason"}, "expected it to withdraw the trial of line 7, and to say why"),
        ({"withdrawn": 6}, "expected it to withdraw the trial of line 7, and to say why"),
        ({"task": "shelf", "success": True, "time": 3}, "expected its time as a text"),
        ({"task": "shelf", "success": True, "number": 9}, "expected an object of JSON with the number 7"),
    ],
)
def test_a_line_with_a_hash_of_its_own_is_checked(path, entry, message):
    append(path, entry)
    with pytest.raises(ValueError, match=re.escape(message)):
        Trials(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"format": "jaxcert-trials-2"},
            "its format is 'jaxcert-trials-2'; expected 'jaxcert-t",
        ),
        ({"tasks": "abc"}, "tasks is 'abc'; expected a list of texts"),
        ({"thresholds": [1]}, "threshold is 1; expected one below 1, the largest"),
        ({"support": [0.0]}, "support is [0.0]; expected a list of 2 numbers"),
        ({"bets": []}, "bets is []; expected a list of numbers"),
        ({"bets": [0.5, 2.0]}, "bets hold 2.0; expected numbers in (0, 1]"),
        ({"give_up": None}, "give_up is None; expected a number"),
        ({"max_trials": None}, "max_rollouts_per_task is None; binary needs a number of at most 2000"),
        ({"delta": 2}, "delta is 2; expected a probability in (0, 1)"),
        ({"schedule": "mine"}, "schedule is 'mine'; expected one of"),
    ],
)
def test_a_declaration_with_a_hash_of_its_own_is_checked(path, changed, message):
    declare_otherwise(path, changed)
    with pytest.raises(ValueError, match=re.escape(message)):
        Trials(path)


def test_lines_that_disappear_are_missed_by_who_has_read_them(path):
    content = path.read_bytes()
    trials = Trials(path)
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:-1]))
    with pytest.raises(ValueError, match="lines that it had before are missing or altered"):
        trials.add(LABELS[0], True)


def test_other_files_are_refused(tmp_path):
    for content, message in (
        (b"", "is empty (0 bytes), expected a log of trials"),
        (b'{"number": 0, "for', "holds no complete line; expected what was declared as the first one"),
        (b"task,success\n", "line 1 is no entry of a log of trials"),
        (b"\xff\xfe\n", "line 1 is no entry of a log of trials"),
        (b"[" * 10**5, "line 1 is no entry of a log of trials"),
    ):
        (tmp_path / "log.jsonl").write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(message)):
            Trials(tmp_path / "log.jsonl")
    with pytest.raises(FileNotFoundError, match="no such file"):
        Trials(tmp_path / "none.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_disk_that_is_full_leaves_no_part(path, monkeypatch):
    """Whoever is told that it could not be written records the trial again."""
    content, trials = path.read_bytes(), Trials(path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_chained.os, "fsync", full)
        with pytest.raises(OSError, match=r"log\.jsonl: cannot be written \(No space left on device\)"):
            trials.add(LABELS[0], True)
    assert path.read_bytes() == content
    trials.add(LABELS[0], True)
    assert Trials(path).trials == trials.trials


def test_what_was_interrupted_is_read_again(path, monkeypatch):
    """The line is on the disk; what it comes to is not known yet."""
    trials = Trials(path)

    def interrupted(*_):
        raise KeyboardInterrupt

    for record in (lambda: trials.add(LABELS[0], False), lambda: trials.undo("mistyped")):
        before = len(path.read_bytes().splitlines())
        with monkeypatch.context() as patch:
            patch.setattr("jaxcert.rollouts._recorded_trials.with_entry", interrupted)
            with pytest.raises(KeyboardInterrupt):
                record()
        assert len(path.read_bytes().splitlines()) == before + 1
        trials.add(LABELS[1], True)
    again = Trials(path)
    assert trials.trials == again.trials
    assert trials.sha256 == again.sha256
    np.testing.assert_array_equal(trials.state.wealth, again.state.wealth)


# --- processes ----------------------------------------------------------------------------------------------------

_ADDING = """
import sys
import numpy as np
from jaxcert.rollouts import Trials

trials, seed = Trials(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
trials.add("p", 0.0)  # compiles
print("ready", flush=True)
while True:
    trials.add("p", float(rng.uniform(-1, 1)))
    print(len(trials.trials), flush=True)
    if rng.random() < 0.3:
        trials.undo(f"by {seed}")
        print("undone", flush=True)
"""


def adding(path, seed):
    arguments = [sys.executable, "-c", _ADDING, str(path), str(seed)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def killed_after(process, seconds):
    """How many lines the process said that it had written."""
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == -signal.SIGKILL
    return out.splitlines()


@pytest.mark.slow
def test_a_killed_process_loses_at_most_the_line_it_was_writing(tmp_path):
    """What it said is there; one line more may be, and a part of a line."""
    path = tmp_path / "log.jsonl"
    # So small a bet that the task stays undecided through all of it.
    Trials.start(path, ["p"], 0.9, support=(-1.0, 1.0), delta=0.1, give_up=0.0)
    moments = random.Random(0)
    for seed in range(6):
        before, _ = outcome(path)
        lines = killed_after(adding(path, seed), moments.uniform(0.2, 0.6))
        after, _ = outcome(path)
        added, withdrawn = (
            len(after.trials) - len(before.trials),
            len(after.withdrawn) - len(before.withdrawn),
        )
        assert len(lines) > 3
        assert len(lines) + 1 <= added + withdrawn <= len(lines) + 2
        assert len(after.trials) >= int(next(line for line in reversed(lines) if line != "undone"))
        # What the log says is what one process has in memory that records the same.
        again = Trials.start(tmp_path / f"{seed}.jsonl", ["p"], 0.9, support=(-1.0, 1.0), delta=0.1, give_up=0.0)
        for trial in after.trials:
            if trial.withdrawn is None:
                again.add("p", trial.value)
        assert np.asarray(again.state.wealth).tobytes() == np.asarray(after.state.wealth).tobytes()


@pytest.mark.slow
def test_two_processes_at_once_lose_nothing(tmp_path):
    path = tmp_path / "log.jsonl"
    Trials.start(path, ["p"], 0.9, support=(-1.0, 1.0), delta=0.1, give_up=0.0)
    processes = [adding(path, seed) for seed in (1, 2)]
    said = [len(killed_after(process, 0.7)) for process in processes]
    found, _ = outcome(path)
    assert min(said) > 1
    assert sum(said) + 2 <= len(found.trials) + len(found.withdrawn) <= sum(said) + 4
