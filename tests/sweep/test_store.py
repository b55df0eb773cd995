"""Long sweeps: interrupted, resumed, with damaged files, with other data."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxcert
from jaxcert._archive import CHUNK, read_archive, write_archive
from jaxcert.sweep import Grid, sweep
from jaxcert.sweep._chunked import _checksum

X = np.random.default_rng(0).uniform(0.2, 0.8, (2, 12, 16)).astype(np.float32)
GRID = Grid(np.linspace(0.1, 0.7, 9), bounds=("hoeffding", "dkw"), betas=(0.1, 0.2))
SETTINGS = {"support": (0, 1), "max_bytes": 9600}
FIELDS = ("epsilon", "safety", "num_violations", "num_valid", "status")


class StopError(Exception):
    """Raised in the middle of a sweep."""


def stop_after(chunks: int):
    def progress(done: int, total: int) -> None:
        assert total > chunks
        if done == chunks:
            raise StopError

    return progress


def assert_same(one, other) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


@pytest.fixture
def started(tmp_path) -> Path:
    """A folder in which three chunks are finished."""
    with pytest.raises(StopError):
        sweep(X, GRID, checkpoint=tmp_path, progress=stop_after(3), **SETTINGS)
    assert len(list(tmp_path.glob("*.npz"))) == 3
    return tmp_path


def test_resumed_is_the_same_as_uninterrupted(started, monkeypatch):
    times = {path: path.stat().st_mtime_ns for path in started.glob("*.npz")}
    resumed = sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)
    assert_same(resumed, sweep(X, GRID, **SETTINGS))
    assert all(path.stat().st_mtime_ns == before for path, before in times.items())
    again = sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)
    assert_same(resumed, again)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "foreign"])
def test_a_damaged_chunk_is_computed_again(started, damage):
    path = min(started.glob("*.npz"))
    content = path.read_bytes()
    middle = content.index(b"lower.npy") + 160
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:-40], "empty": b"", "flipped": flipped, "foreign": b"text"}[damage])
    assert_same(sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS), sweep(X, GRID, **SETTINGS))
    assert path.read_bytes() == content


def replaced(path, change, *, new_checksum=True):
    """The chunk with other lower bounds."""
    head, arrays = read_archive(path, CHUNK)
    lower = change(arrays["lower"])
    if new_checksum:
        head["checksum"] = _checksum(head["digest"], lower)
    write_archive(path, CHUNK, head, {"lower": lower})


def test_a_chunk_that_was_altered_is_computed_again(started):
    """In a sound archive, whose own checksums say nothing against it."""
    path = min(started.glob("*.npz"))
    content = path.read_bytes()
    replaced(path, lambda lower: lower + np.float32(0.25), new_checksum=False)
    assert_same(sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS), sweep(X, GRID, **SETTINGS))
    assert path.read_bytes() == content


def test_finished_chunks_are_used(started):
    """A chunk whose content was replaced, hash and all, shows in the result."""
    replaced(min(started.glob("*.npz")), np.zeros_like)
    resumed = sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)
    assert np.any(resumed.num_violations != sweep(X, GRID, **SETTINGS).num_violations)


def test_without_resume_a_started_sweep_is_left_alone(started):
    before = {path: path.read_bytes() for path in started.iterdir()}
    with pytest.raises(ValueError, match="holds a sweep already; ask to resume it"):
        sweep(X, GRID, checkpoint=started, **SETTINGS)
    assert {path: path.read_bytes() for path in started.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": X / 2}, "was computed from other returns"),
        ({"where": np.ones(X.shape, bool)}, "was computed from other returns"),
        ({"returns": X[:1]}, r"has shape = \[2, 12, 16\], this one \[1, 12, 16\]"),
        ({"returns": X.astype(np.int8)}, "was computed from other returns"),
        ({"support": (-1, 1)}, r"has support = \[0.0, 1.0\], this one \[-1.0, 1.0\]"),
        ({"grid": Grid(GRID.thresholds, bounds="dkw", betas=(0.1, 0.2))}, r"has bounds = \['hoeffding', 'dkw'\]"),
        ({"grid": Grid([0.5], bounds=GRID.bounds, betas=(0.1, 0.2))}, "has thresholds"),
    ],
)
def test_other_returns_or_settings_are_refused_and_nothing_is_lost(started, change, message):
    before = {path: path.read_bytes() for path in started.iterdir()}
    arguments = {"returns": X, "grid": GRID, **SETTINGS, **change}
    with pytest.raises(ValueError, match=message):
        sweep(arguments.pop("returns"), arguments.pop("grid"), checkpoint=started, resume=True, **arguments)
    assert {path: path.read_bytes() for path in started.iterdir()} == before


def test_a_chunk_of_another_place_or_sweep_is_refused(started, tmp_path_factory):
    """Whoever copies or renames files must not change a certificate."""
    other = tmp_path_factory.mktemp("other")
    sweep(X, Grid(GRID.thresholds, bounds=GRID.bounds, betas=(0.8, 0.9)), checkpoint=other, **SETTINGS)
    ours = sorted(path.name for path in started.glob("*.npz"))
    for source in (other / ours[0], started / ours[1]):
        kept = (started / ours[0]).read_bytes()
        (started / ours[0]).write_bytes(source.read_bytes())
        with pytest.raises(ValueError, match="was computed from other returns"):
            sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)
        (started / ours[0]).write_bytes(kept)


def test_a_chunk_of_another_shape_is_computed_again(started):
    replaced(min(started.glob("*.npz")), lambda lower: np.ones_like(lower[:1]))
    assert_same(sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS), sweep(X, GRID, **SETTINGS))


def test_two_sweeps_that_begin_at_once_do_not_share_a_folder(tmp_path, monkeypatch):
    """The second one finds the settings of the first, though they were not there when it looked."""
    sweep(X, GRID, checkpoint=tmp_path, **SETTINGS)
    real = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path.name != "sweep.json" and real(path))
    monkeypatch.setattr(Path, "glob", lambda path, pattern: iter(()))
    with pytest.raises(ValueError, match="holds a sweep already"):
        sweep(X, Grid([0.5], betas=0.9), checkpoint=tmp_path, **SETTINGS)


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def link(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    assert_same(sweep(X, GRID, checkpoint=tmp_path, **SETTINGS), sweep(X, GRID, **SETTINGS))
    with pytest.raises(ValueError, match="holds a sweep already"):
        sweep(X, GRID, checkpoint=tmp_path, **SETTINGS)
    assert not list(tmp_path.glob(".*"))


def test_other_chunks_give_the_same_result(started):
    changed = {**SETTINGS, "max_bytes": 12_000}
    assert_same(sweep(X, GRID, checkpoint=started, resume=True, **changed), sweep(X, GRID, **SETTINGS))


def test_validation_belongs_to_the_settings(tmp_path):
    bad = X.copy()
    bad[0, 0, 0] = np.nan
    sweep(bad, GRID, checkpoint=tmp_path, validate=False, **SETTINGS)
    with pytest.raises(ValueError, match="has validate = False, this one True"):
        sweep(bad, GRID, checkpoint=tmp_path, resume=True, **SETTINGS)


def test_a_checkpoint_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is not a folder"):
        sweep(X, GRID, checkpoint=tmp_path / "file", **SETTINGS)
    with pytest.raises(ValueError, match="resume goes on with the chunks in a checkpoint"):
        sweep(X, GRID, resume=True, **SETTINGS)
    with pytest.raises(ValueError, match="checkpoint is empty"):
        sweep(X, GRID, checkpoint="", **SETTINGS)


def test_bfloat16_returns_are_kept_too(tmp_path):
    x = jnp.asarray(X, jnp.bfloat16)
    assert_same(sweep(x, GRID, checkpoint=tmp_path, **SETTINGS), sweep(x, GRID, **SETTINGS))


def test_damaged_settings_are_refused(started):
    (started / "sweep.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)
    (started / "sweep.json").unlink()
    with pytest.raises(ValueError, match=r"holds \.npz files but no sweep\.json"):
        sweep(X, GRID, checkpoint=started, resume=True, **SETTINGS)


def test_the_settings_are_readable(started):
    settings = json.loads((started / "sweep.json").read_text())
    assert settings["jaxcert"] == jaxcert.__version__
    assert settings["grid"]["bounds"] == ["hoeffding", "dkw"]


PROGRAM = """
import sys, time
import numpy as np
from jaxcert.sweep import Grid, sweep
x = np.random.default_rng(0).uniform(0.2, 0.8, (2, 12, 16)).astype(np.float32)
grid = Grid(np.linspace(0.1, 0.7, 9), bounds=("hoeffding", "dkw"), betas=(0.1, 0.2))
def progress(done, total):
    print(done, flush=True)
    time.sleep(0.2)
sweep(x, grid, support=(0, 1), max_bytes=9600, checkpoint=sys.argv[1], progress=progress)
"""


def test_a_killed_process_loses_the_chunk_at_hand_at_most(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while process.stdout.readline().strip() != b"2":
            assert process.poll() is None
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.glob("*.npz"))) >= 2
    done = []
    resumed = sweep(X, GRID, checkpoint=tmp_path, resume=True, progress=lambda d, t: done.append(d), **SETTINGS)
    assert_same(resumed, sweep(X, GRID, **SETTINGS))
