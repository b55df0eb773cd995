"""Successes and failures on the command line: from a file of words to the sentence, its certificate file and a plan."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from cli_harness import said, session, table

import jaxcert
from jaxcert.report import Protocol

RNG = np.random.default_rng(3)
PASSED = RNG.random((60, 10)) < RNG.beta(9, 1, (60, 1))
HALF = "--threshold 0.5"
SENTENCE = (
    "With confidence 0.95: on a new task from the same distribution, the probability of success is at least 0.5 with"
)
SHORT = {"HALF": f"--delta 0.05 {HALF}", "DELTA": "--delta 0.05", "SIZE": "--tasks 60 --rollouts 10 --method attained"}
run = functools.partial(session, **SHORT)
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _files(there):
    """The same successes in words, as numbers, and as twice the numbers."""
    shown = {"words": lambda ok: "pass" if ok else "fail", "ones": int, "twos": lambda ok: 2 * int(ok)}
    for name, show in shown.items():
        table(f"{name}.csv", "task,trial,success", [(*place, show(ok)) for place, ok in np.ndenumerate(PASSED)])


def test_a_file_of_words_needs_no_other_option():
    run(f"""
        certify words.csv HALF -> method attained | {jaxcert.certify(PASSED, 0.5, delta=0.05)} | {SENTENCE}
        certify words.csv {HALF} => --delta missing | !--support | !attained
        certify twos.csv {HALF} => --support and --delta missing; expected --support LOW HIGH
    """)


def test_the_whole_way_from_a_protocol_to_a_page():
    run("""
        lock p.toml HALF SIZE
        certify words.csv --protocol p.toml --json c.json --report c.html --wanted 0.99 ~> at threshold 0.5:
        verify c.json words.csv --protocol p.toml -> = verified: 1 certificate, 1 statement
        verify c.json ones.csv !>
    """)  # the outcomes of another file, in other words, are another file
    assert Protocol.read("p.toml").support == (0, 1)
    record = json.loads(Path("c.json").read_text())["certificates"][0]
    assert record["data"]["dtype"] == "bool"
    assert record["data"]["columns"] == {"task": "task", "trial": "trial", "value": "success"}
    assert record["rows"][0]["sentence"].startswith(SENTENCE)
    text = Path("c.html").read_text()
    assert "share of new tasks on which the probability of success is at least the" in text
    assert "expected return" not in text.partition("<script")[0]


@pytest.mark.parametrize(
    "words", [HALF, f"{HALF} --suite", "--mean", "--mean --suite", pytest.param("--safety 0.8", marks=SLOW)]
)
def test_zeros_and_ones_are_successes_unless_a_support_says_otherwise(words):
    """They give what words give, and are verified as such; with a support they are returns."""
    found = run(f"certify ones.csv DELTA {words} --json c.json ->")
    assert found.replace("ones.csv", "words.csv") == run(f"certify words.csv DELTA {words}")
    run(f"""
        verify c.json ones.csv -> ^verified: 1 certificate
        certify ones.csv DELTA {words} --support 0 1 ~> expected return
    """)


def test_a_safety_that_is_missed_with_unequal_numbers_of_trials_is_not_passed_over():
    Path("some.csv").write_text("".join(Path("words.csv").read_text().splitlines(keepends=True)[:-1]))
    unknown = "not for too few tasks alone; no more is known of unequal numbers of rollouts."
    out = run(f"""
        certify some.csv HALF --wanted 0.99 ~> at threshold 0.5: 60 tasks with 10 rollouts each can certify
        certify some.csv DELTA --threshold 0.9,0.1 --wanted 0.8 ~> Why not more at threshold 0.9: {unknown}
    """)
    assert out.count("Why not more") == 1


def test_trials_in_a_row_on_average_are_locked_certified_and_verified(there):
    """Of more trials than have to succeed, by betting; of two policies, too."""
    rng = np.random.default_rng(0)
    np.savez("a.npz", returns=rng.random((40, 6)) < 0.9)
    np.savez("b.npz", returns=rng.random((40, 6)) < 0.5)
    row = "--in-a-row 3 --delta 0.05"
    session(f"""
        lock p.toml --question suite_mean --in-a-row 3 --support 0 1 --delta 0.05 --tasks 40 --rollouts 6 -> locked in
        certify a.npz --protocol p.toml --json c.json -> over these 40 tasks, the probability of 3 successes in a row is
        verify c.json a.npz --protocol p.toml -> verified: 1 certificate
        certify a.npz --suite --mean {row} --json d.json -> bound betting
        verify d.json a.npz -> verified: 1 certificate
        certify a.npz --suite --mean {row} --support 0 1 --strict -> the probability of 3 successes in a row is
        certify a.npz --suite --mean {row} --bound clopper_pearson => expected betting
        compare a.npz b.npz {row} --json e.json -> 3 successes in a row of a.npz minus that of b.npz is at least
        verify e.json a.npz b.npz -> verified: 1 certificate
    """)


def test_what_nobody_looked_at_is_not_called_enough(there):
    np.savez("six.npz", returns=np.ones((6, 5), bool))
    out = said("certify", "six.npz", "--safety", 0.9, "--safety", 0.95, "--delta", 0.05)
    assert "not for too few tasks alone" not in out
