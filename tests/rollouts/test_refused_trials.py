"""Experiments trial by trial, of tasks and of two policies: what is refused, and leaves no line in a log."""

import re

import numpy as np
import pytest
from chained_logs import append, declare_otherwise
from logs_of_trials import COINS, PAIR_SCORES, SCORES, WINS

from jaxcert.rollouts._paired_trials import open_trials

pytest.importorskip("filelock")


@pytest.mark.parametrize(
    ("begin", "changed", "message"),
    [
        (COINS, {"tasks": []}, "tasks has no label; expected one for each task"),
        (COINS, {"tasks": "abc"}, "tasks are 'abc'; expected a list of labels"),
        (COINS, {"tasks": ["a", "b", "a"]}, "tasks hold 'a' 2 times; expected a label of its own for each"),
        (COINS, {"tasks": ["a", " b"]}, "tasks hold ' b'; expected labels without blanks around them"),
        (COINS, {"tasks": ["a", ""]}, "tasks hold ''; expected labels of printable characters, at most 200"),
        (COINS, {"tasks": ["a", "b\n"]}, "tasks hold 'b\\n'; expected labels of printable characters, at most 200"),
        (COINS, {"tasks": ["a", 3]}, "tasks hold 3; expected labels of printable characters, at most 200"),
        (COINS, {"thresholds": 1.0}, "threshold is 1; expected one below 1, the largest possible value"),
        (COINS, {"delta": 1.0}, "delta is 1; expected a probability in (0, 1)"),
        (COINS, {"delta": [0.1, 0.2]}, "delta has shape (2,); expected one number"),
        (COINS, {"max_trials": 0}, "max_trials is 0; expected a whole number of at least 1"),
        (COINS, {"support": (0.0, 2.0)}, "support is (0, 2); binary returns have (0, 1)"),
        (COINS, {"support": (0.0,)}, "support is (0.0,); expected two numbers (a, b)"),
        (
            COINS,
            {"successes": False},
            "support is not given; expected support=(a, b), the smallest and the largest possible score",
        ),
        (WINS, {"policies": ["a"]}, "policies are ['a']; expected the names of two"),
        (WINS, {"policies": "ab"}, "policies are 'ab'; expected the names of two"),
        (WINS, {"policies": ["a", "a"]}, "policies hold 'a' 2 times; expected a label of its own for each"),
        (WINS, {"policies": ["new", "n\u0435w"]}, "which look alike; expected"),
        (WINS, {"policies": ["new", "New"]}, "which look alike; expected"),
        (WINS, {"policies": ["a", ""]}, "policies hold ''; expected labels of printable characters, at most 200"),
        (
            WINS,
            {"policies": ["a", "\u2800"]},
            "policies hold '\u2800'; expected labels of printable characters, at most",
        ),
        (WINS, {"policies": ["X", "b"], "blinded": True}, "expected X and Y, for policies with other names"),
        (WINS, {"policies": ["x", "y"], "blinded": True}, "expected X and Y, for policies with other names"),
        (WINS, {"delta": [0.1]}, "delta has shape (1,); expected one number"),
        (WINS, {"support": (0.0,)}, "support is (0.0,); expected two numbers (a, b)"),
        (WINS, {"max_pairs": 0}, "max_pairs is 0; expected a whole number of at least 1"),
        (
            WINS,
            {"max_pairs": 5},
            "max_pairs (--pairs) is 5, within which no policy is shown to be better even if it wins",
        ),
    ],
)
def test_what_cannot_be_declared(begin, changed, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        begin(tmp_path / "log.jsonl", **changed)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("begin", "label", "value", "message"),
    [
        (COINS, "shelv", True, "has no task 'shelv'; expected one that was declared, such as shelf"),
        (COINS, "shelf", 1.0, "the trial has the score 1.0; expected a success or a failure, as was declared"),
        (COINS, "floor", True, "floor is decided, and another trial is no evidence; expected a task that is not"),
        (SCORES, "shelf", True, "the trial has a success; expected a score in [-1, 1], as was declared"),
        (SCORES, "shelf", 1.01, "the trial has the score 1.01; expected a score in [-1, 1], as was declared"),
        (SCORES, "shelf", np.nan, "the trial has the score nan; expected a score in [-1, 1], as was declared"),
        (SCORES, "shelf", -np.inf, "the trial has the score -inf; expected a score in [-1, 1], as was declared"),
        (WINS, "old", False, "log.jsonl: pair 1 has its trial of old; expected the one of new"),
        (WINS, "mine", False, "has no policy 'mine'; expected one that was declared, such as new"),
        (WINS, "new", 1.0, "the trial has the score 1.0; expected a success or a failure, as was declared"),
        (PAIR_SCORES, "new", True, "the trial has a success; expected a score in [-1, 2], as was declared"),
        (PAIR_SCORES, "new", 2.5, "the trial has the score 2.5; expected a score in [-1, 2], as was declared"),
    ],
)
def test_what_is_no_trial_leaves_no_line(begin, label, value, message, tmp_path):
    trials = begin(tmp_path / "log.jsonl")
    if begin is COINS:
        while np.any(trials.state.is_open[2]):
            trials.add("floor", True)
    if begin is WINS:
        trials.add("old", True)
    before = trials.path.read_bytes()
    with pytest.raises(ValueError, match=re.escape(message)):
        trials.add(label, value)
    assert trials.path.read_bytes() == before


def test_what_cannot_be_withdrawn_leaves_no_line(tmp_path):
    trials = COINS(tmp_path / "log.jsonl")
    before = trials.path.read_bytes()
    for why in (" \n", "typo\x1b[8m"):
        with pytest.raises(ValueError, match=r"why is .*; expected the reason in printable characters"):
            trials.undo(why)
    with pytest.raises(ValueError, match=r"log\.jsonl: no trial is left to withdraw"):
        trials.undo("unplugged")
    assert trials.path.read_bytes() == before


@pytest.mark.parametrize(
    ("begin", "changed", "message"),
    [
        (COINS, {"format": "jaxcert-trials-2"}, "its format is 'jaxcert-trials-2'; expected 'jaxcert-t"),
        (COINS, {"tasks": "abc"}, "tasks is 'abc'; expected a list of texts"),
        (COINS, {"thresholds": [1]}, "threshold is 1; expected one below 1, the largest"),
        (COINS, {"support": [0.0]}, "support is [0.0]; expected a list of 2 numbers"),
        (COINS, {"bets": []}, "bets is []; expected a list of numbers"),
        (COINS, {"bets": [0.5, 2.0]}, "bets hold 2.0; expected numbers in (0, 1]"),
        (COINS, {"give_up": None}, "give_up is None; expected a number"),
        (COINS, {"max_trials": None}, "max_rollouts_per_task is None; binary needs a number of at most 2000"),
        (COINS, {"delta": 2}, "delta is 2; expected a probability in (0, 1)"),
        (WINS, {"policies": "ab"}, "policies is 'ab'; expected a list of texts"),
        (
            WINS,
            {"policies": ["a", "b", "c"]},
            "labels are new, old; expected X, Y and Z, for policies with other names",
        ),
        (WINS, {"policies": ["a"], "labels": ["a"]}, "num_policies is 1; expected a whole number of at least 2"),
        (WINS, {"labels": ["new", "mine"]}, "labels are new, mine; expected X and Y"),
        (WINS, {"goal": 10.0}, "its goal is 10, which equal policies reach too often"),
        (WINS, {"goal": 1.0}, "its goal is 1; expected a number above 1"),
        (WINS, {"support": [0.0, 2.0]}, "its support is (0.0, 2.0); expected (0, 1), that of successes"),
        (WINS, {"delta": 0.01}, "which equal policies reach too often"),
        (WINS, {"max_pairs": 2000}, "which equal policies reach too often"),
        (WINS, {"bets": [0.9]}, "which equal policies reach too often"),
        (WINS, {"margin": 0.1}, "which equal policies reach too often"),
        (WINS, {"seed": "x"}, "seed is 'x'; expected a whole number"),
    ],
)
def test_a_declaration_with_a_hash_of_its_own_is_checked(begin, changed, message, tmp_path):
    path = begin(tmp_path / "log.jsonl", **({"max_pairs": 30} if begin is WINS else {})).path
    declare_otherwise(path, changed)
    with pytest.raises(ValueError, match=re.escape(message)):
        open_trials(path)


@pytest.mark.parametrize(
    ("begin", "entry", "message"),
    [
        (COINS, {"task": "tabel", "success": True}, "its task is 'tabel', which was not declared"),
        (COINS, {"task": "shelf", "success": 1}, "the trial has the score 1; expected a success or a failure"),
        (COINS, {"task": "shelf", "score": 0.5}, "the trial has the score None; expected a success or a failure"),
        (COINS, {"withdrawn": 0, "why": "a reason"}, "expected it to withdraw the trial of line 2, and to say why"),
        (COINS, {"task": "shelf", "success": True, "withdrawn": 1, "why": "x"}, "not both in one line"),
        (COINS, {"withdrawn": 1}, "expected it to withdraw the trial of line 2, and to say why"),
        (COINS, {"task": "shelf", "success": True, "time": 3}, "expected its time as a text"),
        (WINS, {"policy": "old", "success": True}, "pair 1 has its trial of old; expected the one of new"),
        (WINS, {"policy": "mine", "success": True}, "its policy is 'mine', which was not declared"),
        (WINS, {"task": "new", "success": True}, "its policy is None, which was not declared"),
        (WINS, {"withdrawn": 3, "why": "x"}, "expected it to withdraw the trial of line 2"),
    ],
)
def test_a_line_with_a_hash_of_its_own_is_checked(begin, entry, message, tmp_path):
    trials = begin(tmp_path / "log.jsonl")
    trials.add("shelf" if begin is COINS else "old", True)
    append(trials.path, entry)
    with pytest.raises(ValueError, match=re.escape(message)):
        open_trials(trials.path)
