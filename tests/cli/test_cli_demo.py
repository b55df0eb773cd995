"""`jaxcert demo`: the commands that it shows are run, and write what they name."""

import pytest
from cli_harness import as_process, command, refused

from jaxcert.cli import _demo_command
from jaxcert.cli._demo_command import COMMANDS, FILES


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path):
    done = as_process("demo", "--out", tmp_path / "new")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("\n$ jaxcert ") == len(COMMANDS) - 1
    assert "is at least 500 with probability at least 0.9249" in done.out
    assert "verified: 1 certificate, 2 statements" in done.out
    assert "is at least 670.8747" in done.out
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == sorted(FILES)


def test_an_error_of_a_command_is_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(_demo_command, "COMMANDS", ("verify cheetah.json cheetah.npz",))
    status, _, err = command("demo", "--out", tmp_path / "new")
    assert status == 2
    assert "cheetah.json: no such file" in err


def test_where_no_files_can_go(tmp_path):
    assert "exists; expected a new folder for the files" in refused("demo", "--out", tmp_path)
    assert "none" in refused("demo", "--out", tmp_path / "none" / "files")
    assert [*tmp_path.iterdir()] == []
