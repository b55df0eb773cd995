"""Files that a command reads and cannot: missing, a folder, not to be read, empty; the same words everywhere."""

from pathlib import Path

import numpy as np
import pytest
from cli_harness import refused

from jaxcert._files import parsed

COMMANDS = {
    "certify": lambda file, _: ("certify", file, "--support", 0, 1, "--delta", 0.1),
    "certify --protocol": lambda file, good: ("certify", good, "--protocol", file),
    "verify": lambda file, good: ("verify", file, good),
    "plan": lambda file, _: ("plan", file, "--support", 0, 1, "--delta", 0.1, "--threshold", 0.5),
    "lock": lambda file, good: (
        *("lock", good.with_name("q.toml"), "--support", 0, 1, "--delta", 0.1, "--tasks", 9, "--rollouts", 2),
        *("--threshold", 0.5, "--policy", file),
    ),
    "rollout --protocol": lambda file, good: (
        *("rollout", "simple_grid", "--protocol", file, "--out", good.with_name("out.npz")),
    ),
}


@pytest.fixture
def good(tmp_path):
    np.savez(tmp_path / "good.npz", returns=np.full((4, 3), 0.5))
    return tmp_path / "good.npz"


@pytest.mark.parametrize("name", COMMANDS)
def test_files_that_cannot_be_read(tmp_path, monkeypatch, good, name):
    file = tmp_path / "file.npz"
    arguments = COMMANDS[name](file, good)
    assert refused(*arguments) == f"error: {file}: no such file\n"
    file.mkdir()
    assert refused(*arguments) == f"error: {file}: is a directory, expected a file\n"
    file.rmdir()
    file.touch()
    assert refused(*arguments).startswith(f"error: {file}: is empty (0 bytes), expected ")
    read = Path.read_bytes
    denied = PermissionError(13, "Permission denied", str(file))

    def unreadable(path):
        if path == file:
            raise denied
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", unreadable)
    assert refused(*arguments) == f"error: {file}: cannot be read (Permission denied)\n"
    assert {path.name for path in tmp_path.iterdir()} == {"good.npz", "file.npz"}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]', "[" * 100_000, "{", b"\xff"])
def test_json_that_has_no_single_meaning(text):
    with pytest.raises(ValueError, match=r"occurs twice|nested|Expecting|decode"):
        parsed(text)
    assert parsed('{"a": [{"a": 1}, {"a": 2}]}') == {"a": [{"a": 1}, {"a": 2}]}
