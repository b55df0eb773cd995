"""`jaxcert train` : what its lines say of steps that are rounded up to whole batches."""

import dataclasses

import pytest
from cli_harness import command

from jaxcert.cli import _train_command
from jaxcert.tasks import zones
from jaxcert.training import ZonesSettings

# Batches of 64 steps.
TINY = ZonesSettings(
    num_envs=4,
    unroll_length=16,
    num_minibatches=2,
    num_updates_per_batch=1,
    num_eval_envs=2,
    networks=zones.NetworkSizes((8,), 4, (6,), 5, (8,), (8,)),
)


def test_steps_are_counted_in_whole_batches(tmp_path, monkeypatch):
    pytest.importorskip("optax", reason="needs the extra zones")
    monkeypatch.setitem(_train_command._SETTINGS, "zones", TINY)
    outcome = command("train", "zones", "--steps", 100, "--checkpoints", 2, "--out", tmp_path / "run")
    assert outcome.status == 0, outcome.err
    first, last, where = outcome.out.splitlines()
    assert first.startswith("step 0 of 128, mean return")
    assert last.startswith("step 128 of 128, mean return")
    assert last.endswith(", 0 min left")
    assert where == f"policies and checkpoints are in {tmp_path / 'run'}"


def test_no_line_shows_more_steps_than_in_all(capsys):
    """Brax rounds up, too, by rules of its own."""
    lines = _train_command._Lines(20_000, [], [])
    for step in (0, 16_384, 32_768):
        lines.show(step, {})
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "step 0 of 20,000"
    assert shown[1].startswith("step 16,384 of 20,000, ")
    assert shown[2].startswith("step 32,768 of 32,768, ")
    assert shown[2].endswith("0 min left")


def test_steps_in_all_are_those_of_whole_batches():
    for steps, wanted in ((1, 64), (64, 64), (65, 128), (2**70 + 1, 2**70 + 64)):
        assert dataclasses.replace(TINY, num_timesteps=steps).num_steps == wanted
