"""`jaxcert trial` with two policies in pairs: from the start to the answer; withdrawn, blinded, refused."""

import functools
import hashlib
import re
import shlex
import subprocess
import sys

import cli_harness
import numpy as np
import pytest
from cli_harness import refused, session

from jaxcert.report.check_trials import check_pairs
from jaxcert.report.plots._evidence_plot import plot_pairs
from jaxcert.rollouts import PairedTrials

pytest.importorskip("filelock")

SHORT = {
    "START": "trial start ab.jsonl --policies new,old --delta 0.05 --seed 1",
    "ADD": "trial add ab.jsonl --policy",
    "STATUS": "trial status ab.jsonl",
}
run = functools.partial(session, **SHORT)
BETTER = "new is better: with confidence 0.95, on new scenes new succeeds more often than old"
said = functools.partial(cli_harness.said, "trial")
said_by_verify = functools.partial(cli_harness.said, "verify")


@pytest.fixture(autouse=True)
def log(there):
    return there / "ab.jsonl"


def made(log, *outcomes) -> None:
    """Pairs with these outcomes of new and old, in the order that was drawn."""
    trials = PairedTrials(log)
    for pair in outcomes:
        for place in trials.declared.order(trials.num_pairs):
            trials.add(("new", "old")[place], pair[place])


WON, ALIKE = (True, False), (True, True)


def test_from_the_start_to_the_answer(log):
    run("""
        START --pairs 60
        trial next ab.jsonl -> = new
        ADD new --success -> = pair 1: new success; next: old, on the same scene
        ADD old --failure -> ^pair 1: new success, old failure; new won 1, old 0, 0 alike; go on: about 6 pairs more
        STATUS -> go on: about 6 pairs more if it goes on like this next: new
    """)
    made(log, ALIKE, *[WON] * 5)
    run("STATUS -> ^7 pairs: new won 6, old 0, 1 alike go on: about 1 pair more if it goes on like this next: ")
    first, second = (("new", "old")[place] for place in PairedTrials(log).declared.order(7))
    flags = {"new": "--success", "old": "--failure"}
    run(f"""
        ADD {first} {flags[first]} -> = pair 8: {first} {flags[first][2:]}; next: {second}, on the same scene
        ADD {second} {flags[second]} -> = pair 8: new success, old failure; new won 7, old 0, 1 alike; {BETTER}
        STATUS --plot ab.png -> = 8 pairs: new won 7, old 0, 1 alike {BETTER}
        trial next ab.jsonl !> =
        ADD new --success => new is shown to be better, and another trial is no evidence
        verify ab.jsonl -> ^proven after 8 pairs: {BETTER.split(": ")[1]}.
        verify c.json => expected RETURNS as well
    """)
    assert log.with_suffix(".png").stat().st_size > 0
    assert [*check_pairs(log.read_bytes())] == [f"proven after 8 pairs: {BETTER.split(': ')[1]}."]
    log.write_bytes(log.read_bytes().replace(b'"success": false', b'"success": true', 1))
    run("verify ab.jsonl !> = refused: line 3 of the log has another hash")


def test_a_page_says_what_is_shown_and_by_what(log):
    """The picture is that of the plot; a later page says more; one that exists stays."""
    run("START --pairs 60")
    made(log, ALIKE, *[WON] * 6)
    run("STATUS --report ab.html -> 7 pairs: new won 6, old 0, 1 alike")
    page = log.with_suffix(".html")
    first = page.read_text()
    assert "No policy is shown to be better." in first
    assert "go on: about 1 pair more if it goes on like this" in first
    made(log, WON)
    run(f"STATUS --report ab.html => ab.html: exists\nSTATUS --report ab.html --force -> {BETTER}")
    text = page.read_text()
    assert f'<p class="claim">{BETTER}.</p>' in text
    assert "new better than old" in text
    for name, value in {"most pairs": 60, "confidence": "0.95 (delta 0.05)", "trials": 16}.items():
        assert f'<th scope="row">{name}</th><td>{value}</td>' in text
    assert hashlib.sha256(log.read_bytes()).hexdigest() in text
    assert "<pre>jaxcert verify ab.jsonl</pre>" in text
    run("trial undo ab.jsonl --why 'the arm stuck'\nSTATUS --report ab.html --force -> the arm stuck")
    assert "1 withdrawn: the above holds only if" in page.read_text()
    assert "the arm stuck" not in page.read_text()  # reasons may hold what is private


def test_a_page_reveals_no_blinded_policy_and_no_path(log):
    run("trial start ab.jsonl --policies first,second --delta 0.05 --seed 7 --blinded\nSTATUS --report c.html")
    text = (log.parent / "c.html").read_text()
    assert "X against Y" in text
    assert not re.search(r"first\b|second\b|seed", re.sub("first (line|trial)", "", text))
    run("""
        trial start cd.jsonl --policies /home/me/new,old --delta 0.05
        trial status cd.jsonl --report d.html => are paths, which a page does not show
        trial start ef.jsonl --policies /home/me/new,old --delta 0.05 --seed 7 --blinded
        trial status ef.jsonl --report d.html => are paths, which a page does not show
    """)


def test_what_can_be_shown_no_more(log):
    run("START --pairs 60")
    trials = PairedTrials(log)
    for pair in range(30):
        for label in ("new", "old"):
            trials.add(label, (label == "new") == (pair % 2 == 0))
    lead = "only a lead of 0.7 or more from here on can be shown within 60 pairs"
    run(f"STATUS -> go on: no end in sight if it goes on like this; {lead} | 17 pairs in another order than was drawn")
    made(log, *[ALIKE] * 19)
    run("STATUS -> stop: no difference can be shown any more within 60 pairs")
    made(log, *[ALIKE] * 11)
    run("""
        STATUS -> ^60 pairs: new won 15, old 15, 30 alike | no policy is shown to be better within 60 pairs
        ADD new --success => all 60 pairs are made, and another trial is no evidence
    """)


def test_trials_that_were_withdrawn(log):
    run("START --pairs 60")
    made(log, *[WON] * 7)
    out = run("trial undo ab.jsonl --why 'typed failure, it was a success'")
    assert re.match(r"withdrawn: trial 14, of (new|old); 1 in all\npair 7: ", out)
    label = PairedTrials(log).next_policy()
    run(f"""
        ADD {label} {"--success" if label == "new" else "--failure"} -> new is better
        STATUS -> ^7 pairs: new won 7, old 0, 0 alike | 1 withdrawn (typed failure, it was a success): the above holds
        STATUS -> If each policy loses the withdrawn pairs, whatever the reasons: no policy is shown to be better
    """)
    checked = [*check_pairs(log.read_bytes())]
    assert checked[0].startswith("proven after 7 pairs: ")
    assert checked[1].startswith("nothing is proven: neither is shown to be better in 7 pairs (with each pair of a")


def test_blinded(log):
    run("START --blinded -> X and Y in pairs")
    shown = ""
    while (label := (trials := PairedTrials(log)).next_policy()) is not None:
        shown += run(f"ADD {label} {'--success' if label == 'Y' else '--failure'}")
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
    assert "try each policy on it, in the order that is advised" in out
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
    labels = f", and {best} succeeds more often than ".join(than)
    going_on = f"with confidence 0.6, on new scenes {best} succeeds more often than {labels}."
    assert next(check_pairs(log.read_bytes())).endswith(f" blocks: {going_on}")  # nor does the proof tell names
    assert going_on in said_by_verify(log)
    out = said("drop", log, "--policy", than[0])
    assert out == f"{than[0]} is dropped\n"
    proven = next(check_pairs(log.read_bytes()))
    assert "new succeeds more often than old, and new succeeds more often than tiny" in proven
    claim = "with confidence 0.6 for all comparisons, on new scenes new succeeds more often than "
    assert f"{best} is better than {than[0]} and {than[1]} (it is new): {claim}" in said("status", log)
    assert f"{than[0]} is in again; block {trials.num_pairs}: " in said("undo", log, "--why", "a slip").replace(
        "\n", "; "
    )
    assert going_on in next(check_pairs(log.read_bytes()))


def test_scores(log):
    rng, out = np.random.default_rng(0), ""
    run("""
        START --support 0 10 --margin 0.5
        STATUS -> = 0 pairs: no outcome of all go on next: new
    """)
    for _ in range(40):
        if (label := PairedTrials(log).next_policy()) is None:
            break
        out = said("add", log, "--policy", label, "--score", round(rng.uniform(6, 10) - 5 * (label == "old"), 2))
    claim = "with confidence 0.95, on new scenes new has a larger expected score than old, by more than 0.5"
    assert out.endswith(f"new is better: {claim}\n")
    assert re.search(r"; mean of new [78]\.\d+, of old [23]\.\d+; ", out)
    assert claim in next(check_pairs(log.read_bytes()))


def test_files_are_of_tasks(log, tmp_path):
    run("START")
    made(log, WON)
    message = refused("trial", "status", log, "--json", tmp_path / "c.json")
    proof = f"of pairs the log is the proof: jaxcert verify {shlex.quote(str(log))}, or python "
    assert f"--json is for tasks; {proof}" in message
    checked = subprocess.run([sys.executable, *shlex.split(message.split(", or python ")[1])], capture_output=True)
    assert (checked.returncode, checked.stderr) == (1, b"")  # nothing is proven by one pair
    told = refused("verify", "--exact", log, log)
    assert "is not JSON, or cut short" in told
    assert [each.name for each in tmp_path.iterdir() if each.suffix != ".lock"] == ["ab.jsonl"]
