"""Logs of trials that were interrupted, and processes that were killed while they wrote."""

import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from logs_of_trials import COINS

from jaxcert.rollouts import Trials

pytest.importorskip("filelock")


def opened(path):
    """What a log says; a line that was cut short is told of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Trials(path)


def test_what_was_interrupted_is_read_again(tmp_path, monkeypatch):
    """The line is on the disk; what it comes to is not known yet."""
    path, labels = tmp_path / "log.jsonl", ["shelf", "tische – ü", 'quo"te\\']
    trials = COINS(path, tasks=labels)
    trials.add(labels[0], True)
    trials.undo('mistyped “\\n" ü')
    trials.add(labels[2], True)
    trials = Trials(path)

    def interrupted(*_):
        raise KeyboardInterrupt

    for record in (lambda: trials.add(labels[0], False), lambda: trials.undo("mistyped")):
        before = len(path.read_bytes().splitlines())
        with monkeypatch.context() as patch:
            patch.setattr("jaxcert.rollouts._trial_log._with_entry", interrupted)
            with pytest.raises(KeyboardInterrupt):
                record()
        assert len(path.read_bytes().splitlines()) == before + 1
        trials.add(labels[1], True)
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
