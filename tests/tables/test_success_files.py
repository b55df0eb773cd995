"""Successes and failures in files, frames, lists and labelled arrays: type bool, or words; and in which column."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import jaxcert
from jaxcert.tables import read_returns

PAIRS = ["true false", "yes no", "pass fail", "passed failed", "success failure", "success fail", "succeeded failed"]
PAIRS += ["solved unsolved", "correct incorrect", "wahr falsch", "y n", "t f", "\u2713 \u2717", "\u2705 \u274c"]
FEWER = pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")


def csv(folder, *entries, header="task,trial,success"):
    """Two trials of each task."""
    rows = [f"{i // 2},{i % 2},{entry}" for i, entry in enumerate(entries)]
    path = folder / "trials.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return path


@pytest.mark.parametrize(("yes", "no"), [pair.split() for pair in PAIRS])
@pytest.mark.parametrize("spelled", [str, str.upper, str.title, lambda word: f" {word} "])
def test_words_are_successes(tmp_path, yes, no, spelled):
    data = read_returns(csv(tmp_path, spelled(yes), no, yes, spelled(yes)))
    assert data.returns.dtype == bool
    assert data.returns.tolist() == [[True, False], [True, True]]
    assert data.where is None
    assert data.columns == ("task", "trial", "success")
    assert (read_returns(csv(tmp_path, no, spelled(no))).returns == [[False, False]]).all()


@pytest.mark.parametrize("mark", [";", "\t"])
def test_words_between_other_delimiters_and_packed(tmp_path, mark):
    text = csv(tmp_path, "yes", "no", "no", "yes").read_text().replace(",", mark)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_returns(tmp_path / "t.csv.gz").returns.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("entries", [("1", "0", "0", "1"), ("1.0", "0", "0", "1e0")])
def test_zeros_and_ones_stay_numbers(tmp_path, entries):
    assert read_returns(csv(tmp_path, *entries)).returns.dtype == np.float64


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
    with pytest.raises(ValueError, match=message):
        read_returns(csv(tmp_path, *entries))


@FEWER
def test_fewer_trials_are_masked_and_count_as_failures_without_the_mask(tmp_path):
    data = read_returns(csv(tmp_path, "yes", "yes", "yes"))
    assert data.returns.tolist() == [[True, True], [True, False]]
    assert data.where.tolist() == [[True, True], [True, False]]
    assert data.missing.startswith("1 of 2 tasks have fewer than 2 rollouts")


def test_arrays_and_columns_of_bool(tmp_path):
    passed = np.array([[True, False], [True, True]])
    np.savez(tmp_path / "a.npz", returns=passed, where=passed | True)
    np.save(tmp_path / "a.npy", passed)
    columns = {"task": [0, 0, 1, 1], "attempt": [0, 1, 0, 1], "passed": passed.ravel()}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    jaxcert.tables.write_returns(tmp_path / "b.parquet", passed)
    for name in ("a.npz", "a.npy", "a.parquet", "b.parquet"):
        data = read_returns(tmp_path / name)
        assert data.returns.dtype == bool
        np.testing.assert_array_equal(data.returns, passed)
    columns["passed"] = pa.array([True, None, True, True])
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="row 2: passed is empty, expected true or false, as in row 1"):
        read_returns(tmp_path / "a.parquet")


@FEWER
def test_frames_lists_and_labelled_arrays():
    frame = pd.DataFrame({"task": ["a", "a", "b"], "trial": [0, 1, 0], "success": [True, False, True]})
    for kind in (frame, frame.astype({"success": "boolean"}), frame.astype({"success": object})):
        assert jaxcert.from_frame(kind).returns.tolist() == [[True, False], [True, False]]
    data = jaxcert.from_lists({"a": [True, False], "b": np.array([True])})
    assert data.returns.dtype == bool
    assert data.where.tolist() == [[True, True], [True, False]]
    with pytest.raises(ValueError, match="task 'a' has successes, of type bool, task 'b' numbers; expected one kind"):
        jaxcert.from_lists({"a": [True, False], "b": [1, 0]})
    array = xr.DataArray([[True, False]], dims=("task", "trial"))
    assert jaxcert.from_xarray(array).returns.dtype == bool


# --- which columns ------------------------------------------------------------------------------------------------


def test_several_columns_that_could_be_meant_are_refused_unless_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("task,trial,success,score\na,0,yes,0.5\na,1,no,0.25\n")
    with pytest.raises(
        ValueError, match="has no column total_return, and 'success' and 'score'; expected one of these by"
    ):
        read_returns(path)
    data = read_returns(path, value="score")
    assert data.returns.tolist() == [[0.5, 0.25]]
    assert data.usual_columns == ("task", "trial", "")
    path.write_text("task,trial,success,total_return\na,0,yes,0.5\na,1,no,0.25\n")
    assert read_returns(path).columns == ("task", "trial", "total_return")
    assert read_returns(path, value="success").usual_columns == ("task", "trial", "total_return")
    with pytest.raises(ValueError, match="has no column passed; found 'task', 'trial', 'success', 'total_return'"):
        read_returns(path, value="passed")


def test_a_frame_in_memory_is_read_alike():
    frame = pd.read_csv(io.StringIO("task,trial,success\na,0,yes\na,1,no\n"))
    assert jaxcert.from_frame(frame).returns.tolist() == [[True, False]]
