"""Outputs whose names are taken while a command runs: what is there stays, and nothing of the result is lost."""

import json

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli import _answering, _plan_command, _rolling, _sweep_command
from jaxcert.planning import task_table
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


def check_taken(line, *paths):
    """Each file is still another's, and what was to be there is beside it."""
    beside = []
    for path in paths:
        assert path.read_text() == "another's"
        beside.append(path.with_name(f"{path.stem}.1{path.suffix}"))
        assert f"{path}: exists by now, and is not replaced; what was written is in {beside[-1]}" in line
    return beside


def test_certify(tmp_path, meanwhile):
    file, *outputs = (tmp_path / name for name in ("r.npz", "c.json", "c.png", "c.html"))
    np.savez(file, returns=RETURNS)
    meanwhile(_answering, "ask", *outputs)
    options = [word for pair in zip(("--json", "--plot", "--report"), outputs, strict=True) for word in pair]
    line = refused("certify", file, "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5, *options)
    record, plot, page = check_taken(line, *outputs)
    assert json.loads(record.read_text())["certificates"][0]["rows"][0]["threshold"] == 0.5
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert page.read_text().startswith("<!doctype html>")


def test_plan(tmp_path, meanwhile, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    record, plot = tmp_path / "p.json", tmp_path / "p.png"
    meanwhile(_plan_command, "task_table", record)
    status, out, err = command("plan", "--delta", 0.05, "--json", record)
    table, *_ = check_taken(err, record)
    assert (status, err.count("\n")) == (2, 1)
    assert "0.99" in out  # what was computed is shown
    assert json.loads(table.read_text())
    for path in (record, table):
        path.unlink()
    made = task_table([0.9], delta=0.05)
    monkeypatch.setattr(_plan_command, "plan", lambda *_, **__: made)
    monkeypatch.setattr(_plan_command, "plot_plan", lambda _: figure.Figure().add_subplot())
    meanwhile(_plan_command, "plan", record, plot)
    planned = ("plan", "--assume", 0.8, 0.05, 0, "--support", 0, 1, "--delta", 0.05, "--json", record, "--plot", plot)
    monkeypatch.setattr(_plan_command, "protocol_of", lambda *_: None)
    monkeypatch.setattr(_plan_command, "write_locked", lambda path, _: path.write_text("locked"))
    status, out, err = command(*planned, "--lock", tmp_path / "p.toml")
    found, _ = check_taken(err, record, plot)
    assert json.loads(found.read_text()) == json.loads(made.to_json())
    assert (status, (tmp_path / "p.toml").read_text()) == (2, "locked")
    assert made.heading in out


def test_sweep(tmp_path, meanwhile):
    pytest.importorskip("pyarrow")
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    config, out = tmp_path / "s.toml", tmp_path / "s.csv"
    config.write_text(
        '[data]\nreturns = "r.npz"\nsupport = [0, 1]\n[grid]\nthresholds = [0.5]\nbounds = ["hoeffding"]\n'
        f'[run]\nout = "{out.name}"\n'
    )
    meanwhile(_sweep_command, "sweep", out)
    (table,) = check_taken(refused("sweep", config), out)
    assert len(table.read_text().splitlines()) == 2


def test_rollouts(tmp_path, meanwhile):
    out = tmp_path / "r.npz"
    meanwhile(_rolling, "collect", out)
    (returns,) = check_taken(refused(*FIXED, "--out", out), out)
    assert read_returns(returns).returns.shape == (3, 2)
    assert {file.name for file in tmp_path.iterdir()} == {"r.npz", "r.1.npz"}


def test_adaptive_rollouts(tmp_path, meanwhile):
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    meanwhile(_rolling, "certify_adaptive", out, record)
    run, sentences = check_taken(refused(*ADAPTIVE, "--out", out, "--json", record), out, record)
    assert int(load_adaptive(run).num_started) > 0
    assert json.loads(sentences.read_text())["certificates"][0]["rollouts"]["seed"] == 1
    assert len(list(tmp_path.iterdir())) == 4


def test_adaptive_rollouts_that_go_on_replace_their_own_files_alone(tmp_path):
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    begin = (*ADAPTIVE, "--out", out, "--json", record)
    assert command(*begin, "--deadline", 1e-6).status == 0
    assert (tmp_path / "run.npz.unfinished").exists()
    for mine in (out, record):
        content = mine.read_bytes()
        mine.write_text("mine")
        assert f"{mine.name}: exists; expected a new file, or --force" in refused(*begin)
        assert mine.read_text() == "mine"
        mine.write_bytes(content)
    assert command(*begin).status == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.json", "run.npz"]
