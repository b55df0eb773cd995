"""The whole way on the command line: plan, lock, roll out, certify, verify; a gate; and what is never replaced."""

import json

import numpy as np
import pytest
from cli_harness import command, refused, said

from jaxcert.report import Protocol

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
SETTINGS = ("--support", 0, 1, "--delta", 0.05)
LOCK = (*SETTINGS, "--tasks", 40, "--rollouts", 20)


@pytest.fixture
def file(tmp_path):
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    return tmp_path / "r.npz"


@pytest.fixture
def locked(tmp_path):
    assert command("lock", tmp_path / "p.toml", *LOCK, "--threshold", 0.5).status == 0
    return tmp_path / "p.toml"


def test_the_whole_way(tmp_path):
    """With the illustrative grid, whose policy is shipped."""
    pilot, protocol, returns, certificate = (tmp_path / name for name in ("a.npz", "p.toml", "b.npz", "c.json"))
    assert command("rollout", "simple_grid", "--tasks", 30, "--rollouts", 20, "--out", pilot, "--seed", 1).status == 0
    planned = ("--threshold", 0.5, "--safety", 0.7, "--delta", 0.05, "--support", 0, 1, "--max-rollouts", 20)
    status, out, _ = command("plan", pilot, *planned, "--design", "clopper_pearson", "--lock", protocol)
    assert status == 0
    digest = out.splitlines()[-1].rpartition(" ")[2]
    assert command("rollout", "simple_grid", "--protocol", protocol, "--out", returns, "--seed", 2).status == 0
    assert command("certify", returns, "--protocol", protocol, "--json", certificate).status == 0
    assert json.loads(certificate.read_text())["protocol"] == digest
    status, out, err = command("verify", certificate, returns, "--protocol", protocol)
    assert (status, out, err) == (0, "verified: 1 certificate, 1 statement\n", "")


HALVES = ("--frequency", "a=0.5", "--frequency", "b=0.5")
OTHER = ("--strata", "place")


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        (("--threshold", 0.5), [OTHER]),
        (("--threshold", 0.5, *HALVES), []),
        (("--question", "mean"), [OTHER, ()]),
    ],
)
def test_the_column_of_strata_is_locked(tmp_path, asked, others):
    table, locked, certificate = tmp_path / "t.csv", tmp_path / "p.toml", tmp_path / "c.json"
    rows = [f"{i},{j},{RETURNS[i, j]:.6f},{'ab'[i % 4 == 0]},{'xy'[i % 2]}" for i in range(40) for j in range(20)]
    table.write_text("\n".join(["task,trial,score,kind,place", *rows]) + "\n")
    assert command("lock", locked, *LOCK, *asked, "--strata", "kind").status == 0
    assert command("certify", table, "--protocol", locked, "--json", certificate).status == 0
    assert json.loads(certificate.read_text())["certificates"][0]["data"]["roles"]["strata"] == "kind"
    assert command("verify", certificate, table, "--protocol", locked).status == 0
    assert "strata is place, the protocol says kind" in refused("certify", table, "--protocol", locked, *OTHER)
    for strata in others:
        assert command("certify", table, *SETTINGS, *asked, *strata, "--json", certificate, "--force").status == 0
        assert command("verify", certificate, table, "--protocol", locked).status == 1


def test_verify_says_what_differs_and_fails(tmp_path, file):
    command("certify", file, *SETTINGS, "--threshold", 0.5, "--json", tmp_path / "c.json")
    changed = RETURNS.copy()
    changed[0, 0] = 0.5
    np.savez(file, returns=changed)
    status, out, _ = command("verify", tmp_path / "c.json", file)
    assert status == 1
    assert out.startswith("not verified:\n  certificate 1: data sha256 is ")


@pytest.mark.parametrize("entry", ["num_tasks = 40", "num_rollouts = 20"])
def test_a_protocol_of_more_than_floats_can_count_differs(entry, tmp_path, file, locked):
    certificate, other, huge = tmp_path / "c.json", tmp_path / "other.toml", "1" * 400
    assert command("certify", file, "--protocol", locked, "--json", certificate).status == 0
    other.write_text(locked.read_text().replace(entry, f"{entry.split(' = ')[0]} = {huge}"))
    assert f"the protocol says {huge}" in refused("certify", file, "--protocol", other)
    status, out, err = command("verify", certificate, file, "--protocol", other)
    assert (status, err) == (1, "")
    assert f"{entry.replace(' =', ' is')}, the protocol says {huge}" in out


def test_a_record_on_stdout_is_all_there_is(file):
    out = said("certify", file, *SETTINGS, "--threshold", 0.5, "--json", "-")
    assert json.loads(out)["certificates"][0]["rows"][0]["threshold"] == 0.5


def test_a_gate(file):
    arguments = ("certify", file, *SETTINGS, "--threshold", "0.25,0.5")
    assert command(*arguments, "--require", 0.2).status == 0
    status, out, err = command(*arguments, "--require", 0.9)
    assert status == 1
    assert "With confidence 0.95" in out
    assert err.startswith("error: certified is ")
    assert err.endswith("at 0.5; required is 0.9\n")


def test_a_gate_of_a_list_counts_tasks(file):
    arguments = ("certify", file, *SETTINGS, "--threshold", 0.01, "--suite")
    assert command(*arguments, "--require", 2).status == 0


def test_nothing_is_replaced_without_force(tmp_path, file):
    for option, name in (("--json", "c.json"), ("--plot", "c.png"), ("--report", "c.html")):
        (tmp_path / name).write_text("mine")
        arguments = ("certify", file, *SETTINGS, "--threshold", 0.5, option, tmp_path / name)
        assert f"{name}: exists; expected a new file, or --force to replace it" in refused(*arguments)
        assert (tmp_path / name).read_text() == "mine"
        assert command(*arguments, "--force").status == 0
        assert (tmp_path / name).read_bytes() != b"mine"
    grid = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--out", file)
    assert "exists" in refused(*grid)
    assert command(*grid, "--force").status == 0


def test_settings_come_from_the_protocol(file, locked):
    status, out, _ = command("certify", file, "--protocol", locked)
    assert status == 0
    assert out.split("\n", 1)[1] == command("certify", file, *SETTINGS, "--threshold", 0.5).out.split("\n", 1)[1]
    assert command("certify", file, "--protocol", locked, "--delta", 0.05, "--bound", "betting").status == 0


def test_other_data_are_refused(tmp_path, locked):
    np.savez(tmp_path / "short.npz", returns=RETURNS, where=np.arange(800).reshape(40, 20) < 795)
    message = refused("certify", tmp_path / "short.npz", "--protocol", locked)
    assert "1 task has fewer rollouts than the protocol says" in message


def test_rollouts_of_another_origin_are_refused(tmp_path):
    lock = (*SETTINGS, "--tasks", 40, "--rollouts", 20, "--threshold", 0.5)
    assert command("lock", tmp_path / "p.toml", *lock, "--environment", "simple_grid", "--seed", 7).status == 0
    for suffix in ("npz", "parquet"):
        out = tmp_path / f"r.{suffix}"
        made = ("rollout", "simple_grid", "--tasks", 40, "--rollouts", 20, "--seed", 8, "--out", out)
        assert command(*made).status == 0
        message = refused("certify", out, "--protocol", tmp_path / "p.toml")
        assert "seed is 8, the protocol says 7" in message


def test_returns_that_do_not_say_where_they_come_from_are_refused(tmp_path, file):
    assert command("lock", tmp_path / "p.toml", *LOCK, "--threshold", 0.5, "--seed", 7).status == 0
    message = refused("certify", file, "--protocol", tmp_path / "p.toml")
    assert "seed is not recorded in the file of returns, the protocol says 7" in message


def test_a_protocol_settles_the_column_of_returns(tmp_path):
    rows = [f"{i},{j},{RETURNS[i, j]},{1 - RETURNS[i, j]}" for i in range(40) for j in range(20)]
    (tmp_path / "r.csv").write_text("\n".join(["task_id,episode_id,total_return,score", *rows]) + "\n")
    lock = ("lock", tmp_path / "p.toml", *LOCK, "--threshold", 0.5, "--value", "score")
    assert command(*lock, "--task", "task_id").status == 0
    certify = ("certify", tmp_path / "r.csv", "--protocol", tmp_path / "p.toml")
    message = refused(*certify, "--value", "total_return")
    assert "value is total_return, the protocol says score" in message
    assert command(*certify, "--json", tmp_path / "c.json").status == 0
    columns = json.loads((tmp_path / "c.json").read_text())["certificates"][0]["data"]["columns"]
    assert columns == {"task": "task_id", "trial": "episode_id", "value": "score"}
    verify = ("verify", tmp_path / "c.json", tmp_path / "r.csv", "--protocol", tmp_path / "p.toml")
    assert command(*verify).status == 0


def test_a_gate_needs_thresholds_in_the_protocol(tmp_path, file):
    assert command("lock", tmp_path / "p.toml", *LOCK, "--safety", 0.5).status == 0
    arguments = ("certify", file, "--protocol", tmp_path / "p.toml", "--require", 0.9)
    assert "--require needs a threshold" in refused(*arguments, "--json", tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_rollouts_that_stop_replace_nothing_either(tmp_path):
    out, json_file = tmp_path / "run.npz", tmp_path / "c.json"
    begin = ("rollout", "simple_grid", "--tasks", 5, "--seed", 1, "--threshold", 0.5, "--max-rollouts", 50)
    for mine in (out, json_file):
        mine.write_text("mine")
        assert "exists" in refused(*begin, "--out", out, "--json", json_file)
        assert mine.read_text() == "mine"
        mine.unlink()
    assert command(*begin, "--out", out, "--json", json_file).status == 0
    assert "rollouts that stopped by themselves" in refused("verify", json_file, out)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"thresholds": (0.5,), "bound": "empirical_bernstein"}, "empirical_bernstein needs at least 2"),
        ({"thresholds": (0.5, 0.5)}, "threshold 0.5 is given twice"),
        ({"safeties": (0.5,), "beta": "auto"}, "beta is 'auto'; expected a number"),
        ({"safeties": (0.5,), "method": "soft"}, "soft adds up evidence"),
    ],
)
def test_rollouts_that_certify_would_refuse_by_the_protocol_are_not_begun(tmp_path, settings, words):
    """As `lock` refuses them, but the file was written otherwise."""
    Protocol(support=(0, 1), delta=0.05, num_tasks=4, num_rollouts=1, **settings).write(tmp_path / "q.toml")
    message = refused("rollout", "simple_grid", "--protocol", tmp_path / "q.toml", "--out", tmp_path / "r.npz")
    assert message.startswith(f"error: {tmp_path / 'q.toml'}: ")
    assert words in message
    assert [file.name for file in tmp_path.iterdir()] == ["q.toml"]
