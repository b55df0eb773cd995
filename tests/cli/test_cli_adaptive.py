"""Rollouts on the command line, as many of each task or until it is decided: interrupted, resumed and refused."""

import json

import numpy as np
import pytest
from cli_harness import command, interrupted, refused

from jaxcert.cli import _rollout_command
from jaxcert.rollouts import load_adaptive
from jaxcert.tables import read_returns

SIZES = ("--tasks", 40, "--slots", 4, "--seed", 3)
# As many rollouts as the tasks may need, so that those which an interruption costs are not missing in the end.
ENOUGH = ("--max-rollouts", 9000, "--max-rollouts-per-task", 200)
BRIDGES = ("rollout", "bridge_world_left", *SIZES, "--threshold", 0.3, "--threshold", 0.5, "--delta", 0.1, *ENOUGH)
GRID = ("rollout", "simple_grid", *SIZES, "--threshold", 0.5, "--delta", 0.1)


@pytest.fixture(scope="module", params=[(*BRIDGES, "--until", 0.1), GRID], ids=["until", "grid"])
def whole(request, tmp_path_factory):
    """A command, its outcome without an interruption, and the run that it wrote."""
    out = tmp_path_factory.mktemp("whole") / "run.npz"
    outcome = command(*request.param, "--out", out)
    assert (outcome.status, outcome.err) == (0, "")
    assert [file.name for file in out.parent.iterdir()] == ["run.npz"]
    return request.param, outcome.out, load_adaptive(out)


def test_the_certificate_and_what_it_took(whole):
    arguments, out, run = whole
    lines, counts = out.splitlines(), np.asarray(run.state.num_rollouts)
    assert bool(run.state.is_binary)  # as the environment declares
    assert lines[0].startswith(f"{arguments[1]} (shipped), deterministic: 40 tasks, seed 3")
    assert lines[1:-2] == str(run).splitlines()
    slowest = int(np.asarray(run.state.num_rollouts_used)[np.asarray(run.state.passed)].max())
    assert lines[-2] == (
        f"{int(run.num_started):,} rollouts, {int(run.num_started) / 40:.1f} per task, {counts.min()} to {counts.max()}"
        f" of a task; as many of every task as the slowest took to pass: {40 * slowest:,}"
    )
    assert lines[-1].startswith("written to ")
    if "--until" in arguments:
        assert np.all(np.asarray(run.certificate.safety) >= 0.1)
        assert np.any(run.state.is_open)
    else:
        assert int(run.num_started) == 4000 or not np.any(run.state.is_open)


def test_an_interrupted_run_with_a_threshold_leaves_nothing(tmp_path, monkeypatch):
    interrupted(monkeypatch, _rollout_command, "save_adaptive", at=1)
    outcome = command(*BRIDGES, "--out", tmp_path / "run.npz", "--json", tmp_path / "run.json")
    assert (outcome.status, outcome.err) == (130, "error: interrupted\n")
    assert not [*tmp_path.iterdir()]


def test_a_terminal_shows_it_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes rich take stderr for a terminal
    arguments = (*BRIDGES, "--until", 0.15, "--out", tmp_path / "run.npz")
    assert "rollouts of 40 tasks, until each is decided" in command(*arguments).err
    assert command(*arguments, "--quiet", "--force").err == ""


def test_the_certificate_as_json_and_no_ordinary_returns(whole, tmp_path):
    arguments, _, run = whole
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    assert command(*arguments, "--out", out, "--json", record, "--witness").status == 0
    document = json.loads(record.read_text())["certificates"][0]
    exact = command("verify", "--exact", record, out)
    assert (exact.status, exact.out.count("proven: ")) == (0, len(document["rows"]))
    assert any(row.get("witness") for row in document["rows"])
    assert "its witnesses are read by an exact check (--exact)" in refused("verify", record, out)
    assert document["settings"]["bound"] == "sequential"
    assert [row["safety"] for row in document["rows"]] == pytest.approx(np.asarray(run.certificate.safety).tolist())
    assert document["rollouts"]["begun"] == int(run.num_started)
    assert document["rollouts"]["seed"] == 3
    words = "holds an adaptive run, whose returns are no sample of a fixed size"
    assert words in refused("certify", out, "--support", 0, 1, "--delta", 0.1)


def test_it_says_what_became_of_the_tasks_where_less_is_certified_than_wanted(tmp_path):
    limits = "--max-rollouts", 100, "--max-rollouts-per-task", 3
    outcome = command(*GRID, *limits, "--until", 0.9, "--out", tmp_path / "run.npz")
    run = load_adaptive(tmp_path / "run.npz")
    passed, undecided = int(run.state.passed.sum()), int(run.state.is_open.sum())
    assert passed + undecided < 40
    counts = f"{passed} of 40 tasks passed, {undecided} are undecided, {40 - passed - undecided} given up"
    assert f"0.5 on less than 0.9: {counts}\n" in outcome.out


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
