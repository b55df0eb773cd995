"""Returns that are written and read again."""

import json

import numpy as np
import pytest

from jaxcert.tables import read_returns, write_returns

RETURNS = np.random.default_rng(0).uniform(0, 1000, (7, 5)).astype(np.float32)


def test_what_is_read_is_what_was_written(tmp_path):
    path = tmp_path / "returns.npz"
    write_returns(path, RETURNS, tasks={"mass": np.arange(7.0)}, facts={"seed": 3})
    file = read_returns(path)
    np.testing.assert_array_equal(file.returns, RETURNS)
    assert file.where is None
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    with np.load(path, allow_pickle=False) as stored:
        assert set(stored.files) == {"returns", "mass", "about"}
        assert json.loads(str(stored["about"])) == {"seed": 3}


TAKEN = ("returns", "where", "about", "file", "task_id", "episode_id", "total_return")


@pytest.mark.parametrize(
    ("name", "returns", "tasks", "message"),
    [
        *(("a.npz", RETURNS, {x: np.ones(7)}, f"parameters called {x}, which mean something else") for x in TAKEN),
        ("a.npz", RETURNS[:, 0], {}, r"shape \(7,\)"),
        ("a.npz", RETURNS, {"mass": np.ones(3)}, r"'mass': \(3,\)"),
        ("a.npz", RETURNS, {"mass": np.array([None] * 7)}, "must be numbers"),
        ("a.csv", RETURNS, {}, r"suffix '\.csv', expected one of \.npz"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, name, returns, tasks, message):
    with pytest.raises(ValueError, match=message):
        write_returns(tmp_path / name, returns, tasks=tasks)
    assert not list(tmp_path.iterdir())
