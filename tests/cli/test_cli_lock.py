"""What `jaxcert lock` refuses since no returns could keep to it, and what rollouts and columns a protocol settles."""

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli._lock_command import write_locked
from jaxcert.report import Protocol
from jaxcert.tables import returns_facts

SIZES = ("--delta", 0.05, "--tasks", 40, "--rollouts", 20)
LOCK = ("--support", 0, 1, *SIZES)
HALF = ("--threshold", 0.5)


def test_a_plan_is_locked_only_if_it_can_be_kept(tmp_path):
    design = {"support": (0, 1e39), "delta": 0.05, "thresholds": (0.5,), "num_tasks": 40, "num_rollouts": 20}
    with pytest.raises(ValueError, match=r"support holds 1e\+39; expected numbers within the range of float32"):
        write_locked(tmp_path / "p.toml", Protocol(**design))  # as `jaxcert plan --lock` does
    assert not (tmp_path / "p.toml").exists()


def test_a_protocol_settles_whether_actions_are_sampled(tmp_path):
    lock = ("lock", tmp_path / "mode.toml", *LOCK, *HALF, "--policy", __file__)
    assert command(*lock, "--deterministic").status == 0
    assert Protocol.read(tmp_path / "mode.toml").deterministic is True
    begin = ("rollout", "zones", "--out", tmp_path / "r.npz", "--protocol")
    message = refused(*begin, tmp_path / "mode.toml", "--stochastic")
    assert "--stochastic: deterministic is False, the protocol says True" in message
    sizes = (*LOCK, "--tasks", 3, "--rollouts", 2, *HALF)
    assert command("lock", tmp_path / "sampled.toml", *sizes, "--stochastic").status == 0
    grid = ("rollout", "simple_grid", "--out", tmp_path / "r.npz", "--protocol", tmp_path / "sampled.toml")
    assert "simple_grid has no stochastic form" in refused(*grid)  # the protocol asks for one
    assert command("lock", tmp_path / "open.toml", *sizes).status == 0
    assert Protocol.read(tmp_path / "open.toml").deterministic is None
    assert command(*grid[:-1], tmp_path / "open.toml").status == 0
    assert returns_facts(tmp_path / "r.npz")["deterministic"] is True
    assert "deterministic is True, the protocol says False" in refused(
        "certify", tmp_path / "r.npz", "--protocol", tmp_path / "sampled.toml"
    )


def test_a_column_is_not_chosen_after_a_look(tmp_path):
    pytest.importorskip("pyarrow")
    values = np.random.default_rng(0).uniform(size=(40, 20)).round(3)
    rows = [f"{i},{j},{values[i, j]},1" for i in range(40) for j in range(20)]
    (tmp_path / "two.csv").write_text("\n".join(["task_id,episode_id,total_return,best", *rows]) + "\n")
    assert command("lock", tmp_path / "p.toml", *LOCK, *HALF).status == 0
    certify = ("certify", tmp_path / "two.csv", "--protocol", tmp_path / "p.toml")
    message = refused(*certify, "--value", "best")
    assert "value is best, the protocol locks no value; expected total_return" in message
    assert command(*certify, "--value", "total_return").status == 0
