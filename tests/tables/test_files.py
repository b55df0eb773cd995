"""Files that are written whole: beside others, over others, on a full disk, and after a killed process."""

import errno
import os
import re
import signal
import subprocess
import sys

import pytest

from jaxcert.tables import _files
from jaxcert.tables._files import whole_file, write_whole


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_file_that_exists_stays_or_is_replaced(tmp_path):
    path = tmp_path / "out.json"
    write_whole(path, b"first", replace=False)
    with pytest.raises(FileExistsError, match=r"out\.json: exists, and is not replaced"):
        write_whole(path, b"second", replace=False)
    assert (names(tmp_path), path.read_bytes()) == (["out.json"], b"first")
    write_whole(path, b"third")
    assert path.read_bytes() == b"third"


def write_or_fail(path, fail):
    with whole_file(path) as file:
        fail()
        file.write(b"after")


@pytest.mark.parametrize("step", ["open", "write", "fsync", "replace"])
def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "out.json"
    path.write_bytes(b"before")
    if step == "open":
        monkeypatch.setattr(_files.Path, "open", full)
    elif step != "write":
        monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=re.escape(f"{path}: cannot be written (No space left on device)")) as raised:
        write_or_fail(path, full if step == "write" else lambda: None)
    assert raised.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert (names(tmp_path), path.read_bytes()) == (["out.json"], b"before")


def test_errors_of_other_files_keep_their_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz"), whole_file(tmp_path / "out.json"):
        (tmp_path / "none.npz").read_bytes()
    assert names(tmp_path) == []


_KILLED = """
import os, signal, sys
from jaxcert.tables._files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_what_was_there(tmp_path):
    path = tmp_path / "out.json"
    path.write_bytes(b"before")
    code = f"import sys; sys.argv = ['', {str(path)!r}]" + _KILLED
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"before"
    (left,) = set(names(tmp_path)) - {"out.json"}
    assert re.fullmatch(r"\.out\.json\.[0-9a-f]{8}\.tmp", left)
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"


def test_two_who_write_at_once_do_not_mix(tmp_path):
    path = tmp_path / "out.json"
    with whole_file(path) as slow:
        slow.write(b"slow")
        write_whole(path, b"quick")
        assert path.read_bytes() == b"quick"
        assert len(names(tmp_path)) == 2
    assert (names(tmp_path), path.read_bytes()) == (["out.json"], b"slow")
