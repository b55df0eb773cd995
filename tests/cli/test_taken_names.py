"""Outputs whose names are taken while a command runs are not replaced."""

import json

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli import _answering, _rollout_command
from jaxcert.rollouts import load_adaptive
from jaxcert.tables import read_returns

ADAPTIVE = ("rollout", "simple_grid", "--tasks", 5, "--threshold", 0.5, "--max-rollouts", 50)


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


def test_names_that_certify_finds_taken(tmp_path, meanwhile):
    file, *outputs = (tmp_path / name for name in ("r.npz", "c.json", "c.png", "c.html"))
    np.savez(file, returns=np.random.default_rng(0).uniform(0.4, 1, (40, 20)))
    meanwhile(_answering, "ask", *outputs)
    options = [word for pair in zip(("--json", "--plot", "--report"), outputs, strict=True) for word in pair]
    line = refused("certify", file, "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5, *options)
    record = check_taken(line, *outputs)
    assert json.loads(record.read_text())["certificates"][0]["rows"][0]["threshold"] == 0.5
    assert len(list(tmp_path.iterdir())) == 5


def test_a_name_that_rollouts_find_taken(tmp_path, meanwhile):
    out = tmp_path / "r.npz"
    meanwhile(_rollout_command, "collect", out)
    fixed = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--seed", 5)
    returns = check_taken(refused(*fixed, "--out", out), out)
    assert read_returns(returns).returns.shape == (3, 2)
    assert {file.name for file in tmp_path.iterdir()} == {"r.npz", "r.1.npz"}


def test_names_that_adaptive_rollouts_find_taken(tmp_path, meanwhile):
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    meanwhile(_rollout_command, "certify_adaptive", out, record)
    asked = (*ADAPTIVE, "--seed", 1, "--out", out, "--json", record)
    run = check_taken(refused(*asked), out, record)
    assert int(load_adaptive(run).num_started) > 0
    assert command(*asked, "--force").status == 0
    assert json.loads(record.read_text())["certificates"][0]["rollouts"]["seed"] == 1
