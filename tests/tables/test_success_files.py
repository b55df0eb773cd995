"""Successes and failures in files, frames, lists and labelled arrays: type bool, or words."""

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


def csv(folder, *entries):
    """Two trials of each task."""
    rows = [f"{i // 2},{i % 2},{entry}" for i, entry in enumerate(entries)]
    path = folder / "trials.csv"
    path.write_text("\n".join(["task,trial,success", *rows, ""]))
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
    for name in ("a.npz", "a.npy", "a.parquet"):
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
