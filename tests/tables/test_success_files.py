"""Successes and failures in files, frames, lists and labelled arrays: type bool, or words."""

import numpy as np
import pytest
from saved_files import refused, saved

from jaxcert.tables import read_returns

PAIRS = ["true false", "yes no", "pass fail", "passed failed", "success failure", "success fail", "succeeded failed"]
PAIRS += ["solved unsolved", "correct incorrect", "wahr falsch", "y n", "t f", "\u2713 \u2717", "\u2705 \u274c"]


def csv(folder, *entries):
    """Two trials of each task."""
    rows = [f"{i // 2},{i % 2},{entry}" for i, entry in enumerate(entries)]
    return saved(folder, "trials.csv", "\n".join(["task,trial,success", *rows, ""]))


@pytest.mark.parametrize(("yes", "no"), [pair.split() for pair in PAIRS])
@pytest.mark.parametrize("spelled", [str, str.upper, str.title, lambda word: f" {word} "])
def test_words_are_successes(tmp_path, yes, no, spelled):
    data = read_returns(csv(tmp_path, spelled(yes), no, yes, spelled(yes)))
    assert data.returns.dtype == bool
    assert data.returns.tolist() == [[True, False], [True, True]]
    assert data.where is None
    assert data.columns == ("task", "trial", "success")
    assert (read_returns(csv(tmp_path, no, spelled(no))).returns == [[False, False]]).all()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (("yes", "1"), "row 2: success is '1', expected yes or no, as in row 1"),
        (
            ("1", "yes"),
            "row 2: success is 'yes', expected a finite number, or in all rows two words such as",
        ),
        (("yes", "pass"), "row 2: success is 'pass', expected yes or no, as in row 1"),
        (("yes", "maybe"), "row 2: success is 'maybe', expected yes or no"),
        (("done", "done"), "row 1: success is 'done', expected a finite number, or in all rows two words such as true"),
        (("true", ""), "row 2: success is empty, expected true or false, as in row 1"),
        (("", "true"), "row 1: success is empty, expected a finite number"),
        (("yes", "nan"), "row 2: success is 'nan', expected yes or no"),
    ],
)
def test_mixed_unknown_and_missing_words_are_named(tmp_path, entries, message):
    refused(csv(tmp_path, *entries), message)


def test_counts_without_a_column_of_trials_are_read_in_silence(tmp_path):
    path = saved(tmp_path, "counts.csv", "task,successes,trials\na,3,5\nb,4,5\n")
    assert read_returns(path, strict=True).columns.trial is None


def test_columns_of_trials_may_have_slashes_in_their_names(tmp_path):
    path = saved(tmp_path, "scores.csv", "task,run/1,run/2\na,8,10\nb,7,10\n")
    assert read_returns(path, value="run/1,run/2").returns.tolist() == [[8, 10], [7, 10]]


@pytest.mark.parametrize("names", ["pi0/successes,OpenVLA/successes", "k/1,k/5", "step100/score,step200/score"])
def test_columns_with_slashes_of_several_policies_are_no_trials(tmp_path, names):
    path = saved(tmp_path, "t.csv", f"task,{names}\na,7,10\nb,8,10\n")
    refused(path, "and no trials of one", value=names)
    refused(path, "which is given twice", successes="k", trials="k")


def test_rows_of_several_trials_that_were_read_twice_are_refused(tmp_path):
    path = saved(tmp_path, "t.csv", "task,trial,s0,s1\na,0,1,1\na,1,1,0\nb,0,1,1\nb,1,0,1\n")
    assert read_returns(path, value="s0,s1", strict=True).unread == ()
    refused(path, "column 'task' is given twice", task="task,task", value="s0")
    twice = "rows 1 and 3 both are task a, trial 0"
    refused(saved(tmp_path, "t.csv", "task,trial,s0,s1\na,0,1,1\na,1,1,0\na,0,1,1\n"), twice, value="s0,s1")
    for again in ("0.0", "0\u200b"):  # as two halves of a table have it, or as nobody sees it
        refused(saved(tmp_path, "t.csv", f"task,trial,success\na,0,1\na,1,0\na,{again},1\n"), twice)


def test_rows_of_several_trials_that_are_of_two_policies_are_refused(tmp_path):
    """Told apart by a column in the role of the trial, or by none, as blocks of a sheet are."""
    outcomes = np.random.default_rng(0).integers(0, 2, (2, 9, 3)).tolist()
    for name, labels, said in (
        ("run", ("ckpt_1000", "ckpt_2000"), "labels of trials are such as 'ckpt_1000'"),
        ("policy", ("pi0", "openvla"), "rows of the same task differ in column 'policy'"),
        ("arm", ("0", "1"), "rows of the same task differ in column 'arm'"),
        ("", ("", ""), "has no column episode_id, and several rows of a task"),
    ):
        rows = [
            ",".join(map(str, [f"q{i}", *[label] * bool(name), *row]))
            for label, of in zip(labels, outcomes, strict=True)
            for i, row in enumerate(of)
        ]
        header = ",".join(filter(None, ["task", name, "s0", "s1", "s2"]))
        path = saved(tmp_path, "t.csv", "\n".join([header, *rows, ""]))
        refused(path, said, value="s0,s1,s2", trial=name or "episode_id", strict=True)
    assert read_returns(path, value="s0,s1,s2", trial=None).returns.shape == (9, 6)
