"""Logs of trials that were interrupted, and processes that were killed while they wrote."""

import functools
import json
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from chained_logs import log_of

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


def opened(path):
    """What a log says; a line that was cut short is told of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Trials(path)


def test_what_was_interrupted_is_read_again(path, monkeypatch):
    """The line is on the disk; what it comes to is not known yet."""
    trials = Trials(path)

    def interrupted(*_):
        raise KeyboardInterrupt

    for record in (lambda: trials.add(LABELS[0], False), lambda: trials.undo("mistyped")):
        before = len(path.read_bytes().splitlines())
        with monkeypatch.context() as patch:
            patch.setattr("jaxcert.rollouts._trial_log._with_entry", interrupted)
            with pytest.raises(KeyboardInterrupt):
                record()
        assert len(path.read_bytes().splitlines()) == before + 1
        trials.add(LABELS[1], True)
    again = Trials(path)
    assert trials.trials == again.trials
    assert trials.sha256 == again.sha256
    np.testing.assert_array_equal(trials.state.wealth, again.state.wealth)


def test_a_line_is_a_trial_or_a_withdrawal(path):
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    for entry in entries:
        entry |= {"success": True} if "withdrawn" in entry else {}
    path.write_bytes(log_of(entries))
    with pytest.raises(ValueError, match="not both in one line"):
        opened(path)


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
    with process:  # not by communicate(), which loses what was read ahead together with the first line
        out, err = process.stdout.read(), process.stderr.read()
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
    for seed in range(3):
        before = opened(path)
        lines = killed_after(adding(path, seed), moments.uniform(0.2, 0.6))
        after = opened(path)
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
