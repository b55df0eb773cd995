"""Outputs whose names are taken while a command runs: what is there stays, and what was written first is beside it."""

import json

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli import _answering, _rollout_command
from jaxcert.rollouts import load_adaptive
from jaxcert.tables import read_returns

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
FIXED = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--seed", 5)
ADAPTIVE = ("rollout", "simple_grid", "--tasks", 5, "--seed", 1, "--threshold", 0.5, "--max-rollouts", 50)


@pytest.fixture
def meanwhile(monkeypatch):
    """Another writes files as soon as a function is called; gives the function that arranges that."""

    def arrange(module, name, *paths):
        function = getattr(module, name)

        def called(*arguments, **options):
            for path in paths:
                path.write_text("another's")
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, called)

    return arrange


def check_taken(line, path, *others):
    """Each file is still another's, and what was to be in the first one is beside it."""
    assert {each.read_text() for each in (path, *others)} == {"another's"}
    beside = path.with_name(f"{path.stem}.1{path.suffix}")
    assert f"{path}: exists by now, and is not replaced; what was written is in {beside}" in line
    return beside


def test_certify(tmp_path, meanwhile):
    file, *outputs = (tmp_path / name for name in ("r.npz", "c.json", "c.png", "c.html"))
    np.savez(file, returns=RETURNS)
    meanwhile(_answering, "ask", *outputs)
    options = [word for pair in zip(("--json", "--plot", "--report"), outputs, strict=True) for word in pair]
    line = refused("certify", file, "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5, *options)
    record = check_taken(line, *outputs)
    assert json.loads(record.read_text())["certificates"][0]["rows"][0]["threshold"] == 0.5
    assert len(list(tmp_path.iterdir())) == 5


def test_rollouts(tmp_path, meanwhile):
    out = tmp_path / "r.npz"
    meanwhile(_rollout_command, "collect", out)
    returns = check_taken(refused(*FIXED, "--out", out), out)
    assert read_returns(returns).returns.shape == (3, 2)
    assert {file.name for file in tmp_path.iterdir()} == {"r.npz", "r.1.npz"}


def test_adaptive_rollouts(tmp_path, meanwhile):
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    meanwhile(_rollout_command, "certify_adaptive", out, record)
    run = check_taken(refused(*ADAPTIVE, "--out", out, "--json", record), out, record)
    assert int(load_adaptive(run).num_started) > 0
    kept = {"run.npz", "run.json", run.name, "run.npz.unfinished"}  # so that nothing is rolled out again
    assert {file.name for file in tmp_path.iterdir()} == kept
    assert command(*ADAPTIVE, "--out", out, "--json", record, "--force").status == 0
    assert json.loads(record.read_text())["certificates"][0]["rollouts"]["seed"] == 1
