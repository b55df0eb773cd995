"""No command replaces what it reads, or begins what it cannot write."""

import shutil
from importlib import resources

import numpy as np
import pytest
from cli_harness import refused

from jaxcert._files import check_output, write_whole
from jaxcert.report import Protocol

CONFIG = '[data]\nreturns = ["r.npz"]\nsupport = [0, 1]\n[grid]\nthresholds = [0.5]\n[run]\n'


@pytest.fixture
def policy(tmp_path):
    with resources.as_file(resources.files("jaxcert") / "data" / "zones_policy.npz") as file:
        return shutil.copy(file, tmp_path / "pol.npz")


@pytest.mark.parametrize("options", [("--rollouts", 2), ("--threshold", 0.5)], ids=["fixed", "adaptive"])
def test_returns_never_replace_their_policy(tmp_path, policy, options):
    content = policy.read_bytes()
    (tmp_path / "link.npz").symlink_to(policy)
    for out in (policy, tmp_path / "link.npz"):
        message = refused("rollout", policy, "--tasks", 3, *options, "--out", out, "--force")
        assert "POLICY and --out name the same file, expected different ones" in message
    folder = tmp_path / "training"
    folder.mkdir()
    latest = shutil.copy(policy, folder / "policy_000000000100.npz")
    within = ("rollout", tmp_path / "training" / latest.name, "--tasks", 3, *options)
    assert "name the same file" in refused(*within, "--out", latest, "--force")
    assert (policy.read_bytes(), latest.read_bytes()) == (content, content)


def test_a_certificate_never_replaces_the_policy(tmp_path, policy):
    begin = ("rollout", policy, "--tasks", 3, "--threshold", 0.5, "--out", tmp_path / "r.npz", "--force")
    assert "POLICY and --json name the same file" in refused(*begin, "--json", policy)
    assert "--out and --json name the same file" in refused(*begin, "--json", tmp_path / "r.npz")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ('out = "r.npz"', "[data] returns and [run] out name the same file"),
        ('out = "s.csv"', "CONFIG and [run] out name the same file"),
    ],
)
def test_a_sweep_never_replaces_what_it_reads(tmp_path, run, words):
    pytest.importorskip("pyarrow")
    np.savez(tmp_path / "r.npz", returns=np.full((4, 3), 0.5))
    kind = "s.csv" if "s.csv" in run else "s.toml"
    returns = "r.npz"
    if "r.npz" in run:  # tables are both written and read
        returns, run = "r.csv", run.replace("r.npz", "r.csv")
        (tmp_path / "r.csv").write_text("task_id,episode_id,total_return\n0,0,1\n")
    (tmp_path / kind).write_text(CONFIG.replace("r.npz", returns) + run)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert words in refused("sweep", tmp_path / kind, "--force")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_name_beside_which_no_other_has_room_is_refused_beforehand(tmp_path):
    longest = tmp_path / ("ä" * 113 + ".npz")
    assert len(longest.name.encode()) == 230
    write_whole(check_output(longest), b"1")
    write_whole(longest.with_name(f"{longest.name}.unfinished"), b"2")
    too_long = tmp_path / ("ä" * 114 + ".npz")
    with pytest.raises(ValueError, match="a name of 232 bytes; expected at most 230"):
        check_output(too_long)
    begin = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--out", too_long)
    assert "a name of 232 bytes" in refused(*begin)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["r.npz.unfinished", "r.npz.unfinished.lock"])
def test_nothing_else_is_where_rollouts_keep_what_they_have_so_far(tmp_path, policy, name):
    """Those files are replaced, and deleted at the end."""
    out, place = tmp_path / "r.npz", tmp_path / name
    shutil.copy(policy, place)
    begin = ("rollout", "simple_grid", "--tasks", 3, "--out", out, "--force")
    message = refused(*begin, "--threshold", 0.5, "--json", place)
    assert f"--json is {place}; expected no file at {place}, where " in message
    (tmp_path / "link.npz").symlink_to(place)
    for options in (("--rollouts", 2), ("--threshold", 0.5)):
        for read in (place, tmp_path / "link.npz"):
            message = refused("rollout", read, "--tasks", 3, *options, "--out", out, "--force")
            assert f"POLICY is {place}; expected no file at " in message
    assert place.read_bytes() == policy.read_bytes()
    place.unlink()
    Protocol(support=(0, 1), delta=0.1, thresholds=(0.5,), num_tasks=3, num_rollouts=2).write(place)
    assert f"--protocol is {place}; expected no file at " in refused(*begin, "--protocol", place)
    assert place.exists()
