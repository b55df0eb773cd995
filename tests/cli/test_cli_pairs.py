"""`jaxcert trial` with two policies in pairs: from the start to the answer; withdrawn, blinded, refused."""

import functools
import re
import shlex
import subprocess
import sys

import cli_harness
import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.report import check_trials
from jaxcert.report.check_trials import check_pairs
from jaxcert.report.plots._line_plots import plot_pairs
from jaxcert.rollouts import PairedTrials

pytest.importorskip("filelock")

PAIRS = ("--policies", "new,old", "--delta", 0.05, "--seed", 1)


@pytest.fixture
def log(tmp_path):
    outcome = command("trial", "start", tmp_path / "ab.jsonl", *PAIRS, "--pairs", 60)
    assert (outcome.status, outcome.err) == (0, "")
    return tmp_path / "ab.jsonl"


said = functools.partial(cli_harness.said, "trial")


def tried(log, new, old) -> str:
    """What is said after a pair with these outcomes, of which the command says which comes first."""
    out = ""
    for _ in range(2):
        label = said("next", log).strip()
        out = said("add", log, "--policy", label, "--success" if {"new": new, "old": old}[label] else "--failure")
    return out


def test_from_the_start_to_the_answer(log):
    assert said("next", log) == "new\n"
    assert said("add", log, "--policy", "new", "--success") == "pair 1: new success; next: old, on the same scene\n"
    out = said("add", log, "--policy", "old", "--failure")
    tally, hope = "new won 1, old 0, 0 alike", "go on: about 6 pairs more if it goes on like this"
    assert out == f"pair 1: new success, old failure; {tally}; {hope}; next: new\n"
    out = tried(log, True, True)
    assert out.startswith("pair 2: new success, old success; new won 1, old 0, 1 alike; go on: about ")
    for _ in range(5):
        out = tried(log, True, False)
    assert "new won 6, old 0, 1 alike; go on: about 1 pair more if it goes on like this; next: " in out
    out = tried(log, True, False)
    answer = "new is better: with confidence 0.95, on new scenes new succeeds more often than old"
    assert out == f"pair 8: new success, old failure; new won 7, old 0, 1 alike; {answer}\n"
    assert said("status", log, "--plot", log.with_suffix(".png")) == f"8 pairs: new won 7, old 0, 1 alike\n{answer}\n"
    assert log.with_suffix(".png").stat().st_size > 0
    assert command("trial", "next", log) == (1, "", "")
    assert "new is shown to be better, and another trial is no evidence" in refused(
        "trial", "add", log, "--policy", "new", "--success"
    )
    assert [*check_pairs(log.read_bytes())] == [f"proven after 8 pairs: {answer.split(': ')[1]}."]
    status, out, _ = command("verify", log)
    assert (status, out.splitlines()[0]) == (0, f"proven after 8 pairs: {answer.split(': ')[1]}.")
    log.write_bytes(log.read_bytes().replace(b'"success": false', b'"success": true', 1))
    status, out, _ = command("verify", log)
    assert (status, out) == (1, "refused: line 3 of the log has another hash\n")
    assert "expected RETURNS as well" in refused("verify", "c.json")


def test_what_can_be_shown_no_more(log):
    trials = PairedTrials(log)
    for pair in range(30):
        for label in ("new", "old"):
            trials.add(label, (label == "new") == (pair % 2 == 0))
    out = said("status", log)
    lead = "only a lead of 0.7 or more from here on can be shown within 60 pairs"
    assert f"go on: no end in sight if it goes on like this; {lead}\n" in out
    assert "17 pairs in another order than was drawn" in out
    trials = PairedTrials(log)
    for _ in range(19):
        for label in ("new", "old"):
            trials.add(label, True)
    out = said("status", log)
    assert "stop: no difference can be shown any more within 60 pairs\n" in out
    for _ in range(11):
        out = tried(log, True, True)
    assert out == "pair 60: new success, old success; new won 15, old 15, 30 alike; neither is shown to be better " + (
        "within 60 pairs\n"
    )
    assert "all 60 pairs are made, and another trial is no evidence" in refused(
        "trial", "add", log, "--policy", "new", "--success"
    )


def test_trials_that_were_withdrawn(log):
    for _ in range(8):
        out = tried(log, True, False)
        if "better" in out:
            break
    out = said("undo", log, "--why", "typed failure, it was a success")
    assert re.match(r"withdrawn: trial 14, of (new|old); 1 in all\npair 7: ", out)
    label = said("next", log).strip()
    assert "new is better" in said("add", log, "--policy", label, "--success" if label == "new" else "--failure")
    lines = said("status", log).splitlines()
    assert lines[0] == "7 pairs: new won 7, old 0, 0 alike"
    assert lines[2].startswith("1 withdrawn (typed failure, it was a success): the above holds only if none was")
    counted = "If both policies lose the withdrawn pairs, whatever the reasons"
    assert lines[3] == f"{counted}: neither is shown to be better"
    checked = [*check_pairs(log.read_bytes())]
    assert checked[0].startswith("proven after 7 pairs: ")
    assert checked[1].startswith("nothing is proven: neither is shown to be better in 7 pairs (with each pair of a")


def test_blinded(tmp_path):
    log = tmp_path / "ab.jsonl"
    assert "X and Y in pairs" in said("start", log, *PAIRS, "--blinded")
    trials, shown = PairedTrials(log), ""
    while (label := trials.next_policy()) is not None:
        shown += said("add", log, "--policy", label, "--success" if label == "Y" else "--failure")
        trials = PairedTrials(log)
    before, answer = shown.rsplit("; ", 1)
    assert "new" not in before
    assert "old" not in before
    name = dict(zip(trials.declared.labels, trials.declared.policies, strict=True))["Y"]
    other = {"new": "old", "old": "new"}[name]
    claim = f"on new scenes {name} succeeds more often than {other}"
    assert answer == f"Y is better (it is {name}): with confidence 0.95, {claim}\n"
    assert claim in next(check_pairs(log.read_bytes()))
    first, second, goal = plot_pairs(trials).lines
    assert [first.get_label(), second.get_label()] == ["X better than Y", "Y better than X"]
    assert second.get_ydata()[-1] >= goal.get_ydata()[0] > second.get_ydata()[-2]


def test_three_blinded_policies_of_which_one_is_dropped(tmp_path):
    log = tmp_path / "abc.jsonl"
    out = said("start", log, "--policies", "new,old,tiny", "--delta", 0.4, "--seed", 1, "--blinded")
    assert "X, Y and Z in blocks, successes, at most 200 blocks, delta 0.4" in out
    assert "try all policies on it, in the order that is advised" in out
    assert said("status", log).startswith("0 blocks: no outcome of all\ngo on\nnext: ")
    trials = PairedTrials(log)
    best = trials.declared.labels[0]
    while not trials.shown() or trials.begun:
        trials.add(trials.next_policy(), trials.next_policy() == best)
    than = [label for label in "XYZ" if label != best]
    lines = said("status", log).splitlines()
    assert lines[0].startswith(f"{trials.num_pairs} blocks: X ")
    claim = (
        f"{best} is better than {than[0]} and {than[1]}: with confidence 0.6 for all comparisons, on new scenes {best}"
    )
    assert lines[1] == f"{claim} succeeds more often than {than[0]} and {than[1]}"
    assert lines[2].startswith("go on: no end in sight if it goes on like this")
    out = said("drop", log, "--policy", than[0])
    assert out == f"{than[0]} is dropped\n"
    claim = "with confidence 0.6 for all comparisons, on new scenes new succeeds more often than "
    assert f"{best} is better than {than[0]} and {than[1]} (it is new): {claim}" in said("status", log)
    assert f"{than[0]} is in again; block {trials.num_pairs}: " in said("undo", log, "--why", "a slip").replace(
        "\n", "; "
    )
    proven = next(check_pairs(log.read_bytes()))
    for other in ("old", "tiny"):
        assert f"new succeeds more often than {other}" in proven


def test_scores(tmp_path):
    log, rng = tmp_path / "ab.jsonl", np.random.default_rng(0)
    said("start", log, *PAIRS, "--support", 0, 10, "--margin", 0.5)
    assert said("status", log) == "0 pairs: no score of both\ngo on\nnext: new\n"
    out = ""
    for _ in range(40):
        if (label := PairedTrials(log).next_policy()) is None:
            break
        out = said("add", log, "--policy", label, "--score", round(rng.uniform(6, 10) - 5 * (label == "old"), 2))
    claim = "with confidence 0.95, on new scenes new has a larger expected score than old, by more than 0.5"
    assert out.endswith(f"new is better: {claim}\n")
    assert re.search(r"; mean of new [78]\.\d+, of old [23]\.\d+; ", out)
    assert claim in next(check_pairs(log.read_bytes()))


def test_files_are_of_tasks(log, tmp_path):
    tried(log, True, False)
    message = refused("trial", "status", log, "--json", tmp_path / "c.json")
    proof = f"of pairs the log is the proof: jaxcert verify {shlex.quote(str(log))}, or python "
    assert f"--json is for tasks; {proof}" in message
    checked = subprocess.run([sys.executable, *shlex.split(message.split(", or python ")[1])], capture_output=True)
    assert (checked.returncode, checked.stderr) == (1, b"")  # nothing is proven by one pair
    told = refused("verify", "--exact", log, log)
    assert "is not one JSON document; expected a file of --json with --witness" in told
    assert shlex.split(told.split(": python ")[1]) == [check_trials.__file__, str(log)]
    assert [each.name for each in tmp_path.iterdir() if each.suffix != ".lock"] == ["ab.jsonl"]
