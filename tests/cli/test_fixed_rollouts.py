"""The file from which `jaxcert rollout --rollouts` goes on: damaged, left behind, or that of another process."""

import numpy as np
import pytest
from cli_harness import command, interrupted, refused

from jaxcert._archive import ROLLOUTS, read_archive, write_archive
from jaxcert._files import held_alone
from jaxcert.cli import _rollout_command
from jaxcert.tables import read_returns

ROLLOUT = ("rollout", "simple_grid", "--tasks", 5, "--rollouts", 2, "--out")


@pytest.fixture(autouse=True)
def _two_tasks_together(monkeypatch):
    monkeypatch.setattr(_rollout_command, "_EPISODES", 4)


@pytest.fixture
def calls(monkeypatch):
    """A list that grows with every part that is made; the third one is interrupted."""
    return interrupted(monkeypatch, _rollout_command, "collect", at=3)


@pytest.fixture
def out(tmp_path, calls):
    """The output of an interrupted run: two of three parts are made."""
    assert command(*ROLLOUT, tmp_path / "r.npz", "--seed", 5).status == 130
    assert names(tmp_path) == ["r.npz.unfinished"]
    return tmp_path / "r.npz"


def kept(out):
    return out.with_name(f"{out.name}.unfinished")


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_what_is_made_is_not_made_again(tmp_path, calls, monkeypatch, seconds):
    monkeypatch.setattr(_rollout_command, "_SECONDS", seconds)
    out, whole = tmp_path / "r.npz", tmp_path / "whole.npz"
    assert command(*ROLLOUT, out, "--seed", 5).status == 130
    outcome = command(*ROLLOUT, out)  # with the seed of the run
    assert "seed 5\n" in outcome.out
    assert (outcome.status, len(calls), names(tmp_path)) == (0, 3 + 1, ["r.npz"])
    assert command(*ROLLOUT, whole, "--seed", 5).status == 0
    np.testing.assert_array_equal(read_returns(out).returns, read_returns(whole).returns)


def test_what_a_killed_process_leaves_beside_its_output_goes_on_to_the_same(out):
    left = kept(out).read_bytes()
    assert command(*ROLLOUT, out).status == 0
    content = read_returns(out).returns
    kept(out).write_bytes(left)
    assert command(*ROLLOUT, out).status == 0
    assert names(out.parent) == ["r.npz"]
    np.testing.assert_array_equal(read_returns(out).returns, content)


def test_another_output_stays(out):
    out.write_bytes(b"another's")
    assert "r.npz: exists; expected a new file" in refused(*ROLLOUT, out)
    assert out.read_bytes() == b"another's"
    assert command(*ROLLOUT, out, "--force").status == 0
    assert names(out.parent) == ["r.npz"]


def test_a_run_of_another_process_is_left_alone(out):
    with held_alone(kept(out).with_name(f"{kept(out).name}.lock")):
        assert f"{kept(out)}: in use by another process; wait for it" in refused(*ROLLOUT, out)
    assert command(*ROLLOUT, out).status == 0


def test_another_seed_or_number_is_refused(out):
    assert f"{kept(out)} holds another run, with seed = 5, not 6" in refused(*ROLLOUT, out, "--seed", 6)
    assert "with num_rollouts = 2, not 3" in refused(*ROLLOUT, out, "--rollouts", 3)
    assert "with num_tasks = 5, not 6" in refused(*ROLLOUT, out, "--tasks", 6)


@pytest.mark.parametrize("returns", [np.zeros((4, 3)), np.zeros((3, 2)), np.zeros((8, 2)), np.zeros(4)])
def test_returns_that_cannot_be_of_the_run_are_refused(out, returns):
    facts, _ = read_archive(kept(out), ROLLOUTS)
    write_archive(kept(out), ROLLOUTS, facts, {"returns": returns})
    assert f"{kept(out)}: holds returns of shape {returns.shape}, damaged; remove it" in refused(*ROLLOUT, out)


def test_a_damaged_file_is_refused_by_its_name(out, calls):
    kept(out).write_bytes(kept(out).read_bytes()[:-9])
    assert f"{kept(out)}: cannot be read as an .npz file, damaged or cut short" in refused(*ROLLOUT, out)
    assert len(calls) == 3
