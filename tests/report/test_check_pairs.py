"""The exact checker of two policies in pairs: it proves what the log shows, alone, and finds what was altered."""

import json
import re
from fractions import Fraction
from operator import itemgetter

import numpy as np
import pytest
from alterations import standing_alone
from chained_logs import log_of
from conftest import x64_context

from jaxcert.certificates import confidence
from jaxcert.report import check_trials
from jaxcert.report.check_trials import check_pairs, read_pairs, shown
from jaxcert.rollouts import PairedTrials, Trials

pytest.importorskip("filelock")


def made(path, seed, share=0.1, **settings):
    """A log of pairs that may be decided, of which some trials were withdrawn."""
    trials = PairedTrials.start(path, **{"policies": ["new", "old"], "delta": 0.1, "seed": seed, **settings})
    rng = np.random.default_rng(seed)
    skills = rng.permutation([0.9, 0.9 if seed % 4 == 0 else 0.3, 0.1][: len(trials.declared.policies)])
    for _ in range(70):
        if rng.random() < share / 4 and trials.begun is None and len(trials._blocks.policies) > 2:
            trials.drop(trials.next_policy())
        if (label := trials.next_policy()) is None:
            break
        skill = skills[trials.declared.labels.index(label)]
        value = bool(rng.random() < skill) if trials.declared.successes else float(np.round(skill * rng.random(), 2))
        trials.add(label, value)
        while rng.random() < share and len(trials.withdrawn) < len(trials.trials):
            trials.undo("unplugged")
    return trials


KINDS = {
    "successes": {},
    "capped": {"max_pairs": 20},
    "a confidence of seven digits": {"delta": 0.0100005},
    "blinded": {"blinded": True},
    "margin": {"margin": 0.05},
    "scores": {"support": (0.0, 1.0)},
    "three": {"policies": ["new", "old", "tiny"], "delta": 0.3},
    "three by scores": {"policies": ["new", "old", "tiny"], "delta": 0.3, "support": (0.0, 1.0), "blinded": True},
    "scores by a margin": {"support": (-0.1, 1.3), "margin": 0.05},
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_the_library_says(kind, tmp_path):
    """In double precision, in which logs declare their numbers."""
    decided = 0
    with x64_context(True):
        for seed in range(8):
            trials = made(tmp_path / f"{seed}.jsonl", seed, **KINDS[kind])
            declared, pairs, touched = read_pairs(trials.path.read_bytes())
            assert pairs == [tuple(map(exact_of(trials), pair)) for pair in trials.pairs()]
            for lost, count_withdrawn in ((set(), False), (touched, True)):
                names, than = trials.declared.policies, {}
                for _, better, worse in sorted(shown(declared, pairs, lost), key=itemgetter(1, 2)):
                    than.setdefault(names[better], []).append(names[worse])
                assert trials.shown(count_withdrawn=count_withdrawn) == than
                decided += bool(than)
            after = f"{trials.num_pairs} pairs" if len(names) == 2 else r"\d+ blocks"
            claim = f"proven after {after}: with confidence {confidence(trials.declared.delta)}, "
            first = next(check_pairs(trials.path.read_bytes()))
            assert re.match(claim if trials.shown() else "nothing is proven", first)
    assert decided >= 2


def exact_of(trials):
    """The fraction that the decimals of an outcome stand for."""
    of = (lambda x: Fraction(int(x))) if trials.declared.successes else (lambda x: Fraction(repr(x)))
    return lambda x: None if x is None else of(x)


def rewritten(content: bytes, change) -> bytes:
    """A log with entries that are changed, and the hashes that belong to them."""
    return log_of(change([json.loads(line) for line in content.splitlines()]))


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A log of two policies."""
    return made(tmp_path_factory.mktemp("pairs") / "log.jsonl", 1, share=0).path.read_bytes()


def test_what_was_altered_is_found(content):
    lines = content.splitlines(keepends=True)
    altered = {
        "an outcome": content.replace(b'"success": false', b'"success": true', 1),
        "delta": content.replace(b'"delta": 0.1', b'"delta": 0.2', 1),
        "one is missing": b"".join(lines[:3] + lines[4:]),
        "two change places": b"".join([*lines[:3], lines[4], lines[3], *lines[5:]]),
        "one twice": b"".join([*lines[:4], *lines[3:]]),
        "a policy": content.replace(b'"policy": "new"', b'"policy": "old"', 1),
    }
    with pytest.raises(ValueError, match="its last line is cut short"):
        [*check_pairs(content[:-9])]
    for name, other in altered.items():
        assert other != content, name
        with pytest.raises(ValueError, match=r"line \d+ of the log has another hash"):
            [*check_pairs(other)]


def test_the_proof_shows_where_a_name_begins_and_ends(tmp_path):
    trials = made(tmp_path / "log.jsonl", 1, share=0, policies=["new never fails and", "old"])
    assert ', on new scenes "new never fails and" succeeds more often than old.' in next(
        check_pairs(trials.path.read_bytes())
    )


def other_failures(success):
    """One for the worse policy that is spelled in another way is no failure."""
    return lambda held: [{**each, "success": success} if each.get("success") is False else each for each in held]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": 5.0}, "its goal is reached at J = B with a probability larger than beta"),
        ({"max_pairs": 2000}, "its goal is reached at J = B with a probability larger than beta"),
        ({"delta": 0.01}, "its goal is reached at J = B with a probability larger than beta"),
        ({"bets": []}, "a bet, the margin or delta is out of range"),
        ({"delta": 1.5}, "a bet, the margin or delta is out of range"),
        ({"labels": ["old", "new"]}, "it declares no two policies"),
        ({"policies": ["new", "new\ufe0f"], "labels": ["X", "Y"]}, "it declares no two policies"),
        ({"policies": ["X", "Y"], "labels": ["Y", "X"]}, "it declares no two policies"),
        ({"labels": ["old ", "new "]}, "it declares no two policies"),
        ({"labels": ["\u043eld", "n\u0435w"]}, "it declares no two policies"),
        ({"labels": ["X", "Z"]}, "it declares no two policies"),
        ({"policies": "AB", "labels": "XY"}, "its policies or their labels are no list"),
        ({"support": [0.0, 2.0], "margin": 0.1}, "successes have another support"),
        ({"margin": 1.0}, "a bet, the margin or delta is out of range"),
        ({"bets": [1.5]}, "a bet, the margin or delta is out of range"),
        ({"margin": -0.5}, "a bet, the margin or delta is out of range"),
        ({"support": [0.0, 2.0]}, "successes have another support"),
        ({"support": [1.0, 0.0]}, "its support is empty"),
        ({"labels": ["new", "new"]}, "it declares no two policies"),
        ({"policies": ["new", "old", "x"]}, "it declares no two policies"),
        ({"policies": ["new.\nproven after 9 pairs: with confidence 1, new", "old"]}, "it declares no two policies"),
        ({"policies": ["new", "new\u200b"]}, "it declares no two policies"),
        ({"policies": ["new'", 'new"'], "labels": ["X", "Y"]}, "it declares no two policies"),
        ({"policies": ["caf\u00e9", "cafe\u0301"], "labels": ["X", "Y"]}, "it declares no two policies"),
        ({"policies": ["new", "\u2800"], "labels": ["X", "Y"]}, "it declares no two policies"),
        ({"policies": ["new", "new "], "labels": ["X", "Y"]}, "it declares no two policies"),
        ({"max_pairs": 2001}, "its trials, or the digits of its numbers, are too many to check"),
        ({"max_pairs": 1e300}, "its trials, or the digits of its numbers, are too many to check"),
        ({"max_pairs": 2000, "bets": [0.5, 1e-300]}, "its trials, or the digits of its numbers, are too many to check"),
        ({"margin": 0.1, "bets": [1e-300] * 10**5}, "its trials, or the digits of its numbers, are too many to check"),
        ({"format": "jaxcert-trials-1"}, "it is no log of pairs"),
        ({"successes": 1}, "or it says not what is recorded"),
        ({"successes": False}, "line 2 of the log has not the outcome that was declared"),
        (lambda held: [*held[:3], *held[4:]], "has the number 4: one is missing"),
        (lambda held: [*held[:2], {**held[2], "policy": held[1]["policy"]}], "of the log is of the policy before"),
        (lambda held: [*held, {"number": len(held), "withdrawn": 2}], "does not withdraw the last trial"),
        (lambda held: [held[0], {"number": 1, "withdrawn": 1}], "does not withdraw the last trial"),
        (lambda held: [*held[:2], {**held[2], "score": 1.0}], "has not one outcome"),
        (lambda held: [*held[:3], {"number": 3, "policy": "new", "dropped": True}], "or leaves a single one"),
        (lambda held: [held[0], {"number": 1, "withdrawn": 0}], "does not withdraw the last trial"),
        *((other_failures(x), "of the log has no success or failure") for x in (1, 1.0, "true", None)),
    ],
)
def test_entries_that_prove_nothing(change, message, content):
    """Of what is declared, and of what follows."""
    changed = change if callable(change) else lambda held: [{**held[0], **change}, *held[1:]]
    with pytest.raises(ValueError, match=re.escape(message)):
        [*check_pairs(rewritten(content, changed))]


def test_scores_beyond_the_support(tmp_path):
    trials = made(tmp_path / "log.jsonl", 1, share=0, support=(0.0, 1.0))
    content = rewritten(trials.path.read_bytes(), lambda held: [held[0], {**held[1], "score": 1.5}])
    with pytest.raises(ValueError, match="line 2 of the log has an outcome beyond the support"):
        [*check_pairs(content)]


def test_no_trial_is_left_out_of_a_block_of_three(tmp_path):
    trials = PairedTrials.start(tmp_path / "log.jsonl", ["new", "old", "tiny"], delta=0.1, seed=0)
    first = trials.next_policy()
    trials.add(first, True)
    second = trials.next_policy()
    gone = {"policy": second, "dropped": True}
    for entries, message in (
        ([{"policy": first, "success": True}], "line 3 of the log is of the policy before"),
        ([gone], "drops a policy within a block"),
        ([{"withdrawn": 1}, gone, gone], "line 5 of the log is of a policy that was dropped"),
        ([{"withdrawn": 1}, gone, {"policy": second, "success": True}], "line 5 of the log is of a policy that was"),
        ([{"withdrawn": 1}, gone, {"policy": first, "dropped": True}], "or leaves a single one"),
        ([{"withdrawn": 1}, {**gone, "dropped": 1}], "drops a policy within a block"),
    ):
        content = rewritten(trials.path.read_bytes(), lambda held, more=entries: [*held, *more])
        with pytest.raises(ValueError, match=re.escape(message)):
            [*check_pairs(content)]


def test_a_confidence_of_many_digits_is_rounded_down():
    """Of a delta just above 0.05, with more digits than are printed."""
    delta = f"5{'0' * 399}.{'0' * 399}1e-401"
    assert Fraction(check_trials.confidence_of({"delta": delta})) <= 1 - Fraction(delta) < Fraction(19, 20)


def test_it_stands_alone(tmp_path):
    """Two files, and Python without anything else."""
    trials = made(tmp_path / "ab.jsonl", 1, share=0)
    assert trials.better() is not None
    ran = standing_alone(tmp_path)
    found = ran(trials.path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"proven after {trials.num_pairs} pairs: with confidence 0.9, on new scenes ")
    assert check_trials.BELIEVED_OF_PAIRS in found.stdout
    undecided = ran(PairedTrials.start(tmp_path / "undecided.jsonl", ["new", "old"], delta=0.1).path)
    assert undecided.returncode == 1
    assert undecided.stdout.startswith("nothing is proven: ")
    (tmp_path / "other.jsonl").write_bytes(trials.path.read_bytes().replace(b"true", b"false", 3))
    Trials.start(tmp_path / "tasks.jsonl", ["a"], 0.5, successes=True, delta=0.1)
    for name, message in (
        ("other.jsonl", "of the log has another hash"),
        ("none.jsonl", "No such file"),
        ("tasks.jsonl", "it is no log of pairs"),
    ):
        wrong = ran(tmp_path / name)
        assert wrong.returncode == 1
        assert wrong.stdout.startswith("refused: ")
        assert message in wrong.stdout
