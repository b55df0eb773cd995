"""`jaxcert rollout --rollouts`: an interrupted run leaves nothing behind, and begins anew."""

import numpy as np
from cli_harness import command, interrupted, refused

from jaxcert.cli import _rollout_command
from jaxcert.tables import read_returns

ROLLOUT = ("rollout", "simple_grid", "--tasks", 5, "--rollouts", 2, "--seed", 5, "--out")


def test_an_interrupted_run_leaves_nothing_and_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(_rollout_command, "_EPISODES", 4)
    calls, out, whole = (
        interrupted(monkeypatch, _rollout_command, "collect", at=3),
        tmp_path / "r.npz",
        tmp_path / "whole.npz",
    )
    assert command(*ROLLOUT, out).status == 130
    assert [*tmp_path.iterdir()] == []
    assert command(*ROLLOUT, out).status == command(*ROLLOUT, whole).status == 0
    assert len(calls) == 3 * 3
    np.testing.assert_array_equal(read_returns(out).returns, read_returns(whole).returns)
    assert "r.npz: exists; expected a new file" in refused(*ROLLOUT, out)
    assert command(*ROLLOUT, out, "--force").status == 0
