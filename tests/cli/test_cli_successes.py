"""Successes and failures on the command line: from a file of words to the sentence, its certificate file and a plan."""

import json

import numpy as np
import pytest
from cli_harness import command, refused

import jaxcert
from jaxcert.cli import _plan_command
from jaxcert.report import Protocol

RNG = np.random.default_rng(3)
PASSED = RNG.random((60, 10)) < RNG.beta(9, 1, (60, 1))
DELTA, HALF = ("--delta", 0.05), ("--threshold", 0.5)
SENTENCE = (
    "With confidence 0.95: on a new task from the same distribution, the probability of success is at least 0.5 with"
)


def write(path, shown):
    rows = [f"{task},{trial},{shown(ok)}" for (task, trial), ok in np.ndenumerate(PASSED)]
    path.write_text("\n".join(["task,trial,success", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    return write(tmp_path_factory.mktemp("trials") / "trials.csv", lambda ok: "pass" if ok else "fail")


def test_a_file_of_words_needs_no_other_option(trials):
    found = command("certify", trials, *DELTA, *HALF)
    assert found.status == 0
    assert "method attained" in found.out
    assert str(jaxcert.certify(PASSED, 0.5, delta=0.05)) in found.out
    assert SENTENCE in found.out
    assert "warning" not in found.err


@pytest.mark.parametrize(
    "words",
    [
        ("--mean",),
        pytest.param(HALF, marks=pytest.mark.slow),
        pytest.param((*HALF, "--each-task"), marks=pytest.mark.slow),
    ],
)
def test_numbers_of_a_list_are_told_the_bound_for_successes_once(words, tmp_path):
    file = write(tmp_path / "numbers.csv", int)
    told = command("certify", file, *DELTA, "--suite", *words, "--support", 0, 1)
    assert told.status == 0
    assert told.err.count('bound="clopper_pearson" (--bound clopper_pearson)') == 1
    found = command("certify", file, *DELTA, "--suite", *words, "--bound", "clopper_pearson")
    assert (found.status, found.err) == (0, "")
    in_words = command(
        "certify", write(tmp_path / "words.csv", lambda ok: "pass" if ok else "fail"), *DELTA, "--suite", *words
    )
    assert (in_words.status, in_words.err) == (0, "")
    sampled = command("certify", file, *DELTA, "--sampled", "--mean", "--support", 0, 1)
    assert (sampled.status, sampled.err) == (0, "")  # no other bound or method is one for it


def test_the_whole_way_from_a_protocol_to_a_page(trials, tmp_path):
    protocol, document, page = (tmp_path / name for name in ("p.toml", "c.json", "c.html"))
    size = ("--tasks", 60, "--rollouts", 10)
    assert command("lock", protocol, *DELTA, *HALF, *size, "--method", "attained").status == 0
    assert Protocol.read(protocol).support == (0, 1)
    written = command("certify", trials, "--protocol", protocol, "--json", document, "--report", page, "--wanted", 0.99)
    assert written.status == 0, written.err
    assert "Why not more at threshold 0.5: " in written.out
    record = json.loads(document.read_text())["certificates"][0]
    assert record["data"]["dtype"] == "bool"
    assert record["data"]["columns"] == {"task": "task", "trial": "trial", "value": "success"}
    assert record["rows"][0]["sentence"].startswith(SENTENCE)
    assert command("verify", document, trials, "--protocol", protocol).out == "verified: 1 certificate, 1 statement\n"
    text = page.read_text()
    assert "share of new tasks on which the probability of success is at least the" in text
    assert "expected return" not in text.partition("<script")[0]
    # The outcomes of another file, in other words, are another file.
    other = write(tmp_path / "trials.csv", lambda ok: not ok)
    assert command("verify", document, other).status == 1


@pytest.mark.parametrize(
    "words",
    [
        HALF,
        (*HALF, "--suite"),
        ("--mean",),
        ("--mean", "--suite"),
        pytest.param(("--safety", 0.8), marks=pytest.mark.slow),
    ],
)
def test_zeros_and_ones_are_successes_unless_a_support_says_otherwise(words, tmp_path):
    """They give what words give, and are verified as such; with a support they are returns."""
    file, in_words = write(tmp_path / "trials.csv", int), write(tmp_path / "words.csv", lambda ok: ok)
    found = command("certify", file, *DELTA, *words, "--json", tmp_path / "c.json")
    assert (found.status, found.err) == (0, "")
    assert found.out.replace("trials.csv", "words.csv") == command("certify", in_words, *DELTA, *words).out
    assert command("verify", tmp_path / "c.json", file).out.startswith("verified: 1 certificate")
    returns = command("certify", file, *DELTA, *words, "--support", 0, 1)
    assert "expected return" in returns.out


def test_other_numbers_have_a_support_to_fill_in(tmp_path):
    file = write(tmp_path / "trials.csv", lambda ok: 2 * int(ok))
    assert refused("certify", file, *HALF).strip().endswith("--support LOW HIGH --delta 0.05")


def test_delta_is_missing(trials):
    message = refused("certify", trials, *HALF)
    assert "--delta missing" in message
    assert "--support" not in message
    assert "attained" not in message


def test_a_protocol_that_leaves_columns_open_is_kept_by_the_one_that_can_be_meant(trials, tmp_path):
    lock = (*DELTA, *HALF, "--tasks", 60, "--rollouts", 10, "--method", "attained")
    protocol = tmp_path / "p.toml"
    assert command("lock", protocol, *lock).status == 0
    two = tmp_path / "two.csv"
    header, *rows = trials.read_text().splitlines()
    two.write_text("\n".join([f"{header},passed", *(f"{row},pass" for row in rows), ""]))
    message = refused("certify", two, "--protocol", protocol, "--value", "passed")
    assert "value is passed, the protocol locks no value; expected one that is read without" in message


def test_a_safety_that_is_missed_with_unequal_numbers_of_trials_is_not_passed_over(trials, tmp_path):
    some = tmp_path / "some.csv"
    some.write_text("".join(trials.read_text().splitlines(keepends=True)[:-1]))
    found = command("certify", some, *DELTA, *HALF, "--wanted", 0.99)
    assert "Why not more at threshold 0.5: 60 tasks with 10 rollouts each can certify" in found.out
    found = command("certify", some, *DELTA, "--threshold", 0.9, "--threshold", 0.1, "--wanted", 0.8)
    said = (
        "Why not more at threshold 0.9: not for too few tasks alone; no more is known of unequal numbers of rollouts."
    )
    assert said in found.out
    assert found.out.count("Why not more") == 1


def test_a_plan_from_successes_needs_no_support(trials, tmp_path, monkeypatch):
    def refuse(pilot, *, support, **_):
        raise ValueError(f"planned from {pilot.dtype} in {support}")

    monkeypatch.setattr(_plan_command, "plan", refuse)
    assert "planned from bool in (0, 1)" in refused("plan", trials, *DELTA, *HALF, "--safety", 0.8)
    numbers = write(tmp_path / "n.csv", int)
    assert "planned from bool in (0, 1)" in refused("plan", numbers, *DELTA, *HALF, "--safety", 0.8)
    scores = write(tmp_path / "s.csv", lambda ok: 2 * int(ok))
    message = refused("plan", scores, *DELTA, *HALF, "--safety", 0.8)
    assert "--support is not given" in message
    assert "0 1 for successes" in message
