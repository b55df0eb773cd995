"""Returns that are written and read again."""

import json

import numpy as np
import pyarrow.parquet
import pytest

from jaxcert.tables import check_returns_path, read_returns, write_returns

RETURNS = np.random.default_rng(0).uniform(0, 1000, (7, 5)).astype(np.float32)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_is_read_is_what_was_written(tmp_path, suffix):
    path = tmp_path / f"returns{suffix}"
    write_returns(path, RETURNS, tasks={"mass": np.arange(7.0)}, facts={"seed": 3, "policy": "mine"})
    file = read_returns(path)
    np.testing.assert_array_equal(file.returns, RETURNS)
    assert file.where is None
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_facts_and_parameters_are_kept(tmp_path):
    write_returns(tmp_path / "a.parquet", RETURNS, tasks={"mass": np.arange(7.0)}, facts={"seed": 3})
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert json.loads(table.schema.metadata[b"jaxcert"]) == {"seed": 3}
    np.testing.assert_array_equal(table["mass"].to_numpy(), np.repeat(np.arange(7.0), 5))
    write_returns(tmp_path / "a.npz", RETURNS, tasks={"mass": np.arange(7.0)}, facts={"seed": 3})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert set(stored.files) == {"returns", "mass", "about"}
        assert json.loads(str(stored["about"])) == {"seed": 3}


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("name", ["returns", "where", "about", "file", "task_id", "episode_id", "total_return"])
def test_a_parameter_takes_no_name_that_means_something_else(tmp_path, suffix, name):
    with pytest.raises(ValueError, match=f"parameters called {name}, which mean something else"):
        write_returns(tmp_path / f"returns{suffix}", RETURNS, tasks={name: np.full(7, 900.0)})
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"shape \(7,\)"):
        write_returns(tmp_path / "a.npz", RETURNS[:, 0])
    with pytest.raises(ValueError, match=r"'mass': \(3,\)"):
        write_returns(tmp_path / "a.npz", RETURNS, tasks={"mass": np.ones(3)})
    with pytest.raises(ValueError, match="must be numbers"):
        write_returns(tmp_path / "a.npz", RETURNS, tasks={"mass": np.array([None] * 7)})
    with pytest.raises(ValueError, match=r"suffix '\.csv', expected one of \.npz, \.parquet"):
        check_returns_path(tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
