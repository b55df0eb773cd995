"""Compiled programs kept between runs of the command, in real processes, and never by the library itself."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxcert.cli import _program_cache
from jaxcert.numerics import _programs


@pytest.fixture
def returns(tmp_path: Path) -> Path:
    path = tmp_path / "returns.npz"
    np.savez(path, returns=np.random.default_rng(0).random((30, 10)))
    return path


def certify(returns: Path, cache: Path, *options: str) -> tuple[str, set[str]]:
    """What the command prints, and the programs that are kept afterwards."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_COMPILATION", "XDG"))}
    arguments = ["certify", str(returns), "--support", "0", "1", "--threshold", "0.1", "--bound", "hoeffding"]
    done = subprocess.run(
        [sys.executable, "-m", "jaxcert", *options, *arguments, "--delta", "0.1"],
        env=settings | {"XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout, {path.name for path in cache.rglob("*.program")}


def test_the_second_run_compiles_nothing(returns, tmp_path):
    first, kept = certify(returns, tmp_path / "cache")
    second, still_kept = certify(returns, tmp_path / "cache")
    assert len(kept) == 2  # the question, and the risks of all numbers of violations
    assert kept == still_kept
    assert first == second


def test_no_cache_leaves_nothing(returns, tmp_path):
    _, kept = certify(returns, tmp_path / "cache", "--no-cache")
    assert not kept
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """The folder of the command's programs, where JAX keeps none."""
    monkeypatch.setattr(_program_cache, "folder", lambda: tmp_path / "programs")
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    _program_cache.read_again()
    yield tmp_path / "programs"
    jax.config.update("jax_compilation_cache_dir", before)
    _program_cache.read_again()


def test_settings_of_jax_are_as_before(programs):
    names = [name for name in dir(jax.config) if "cache" in name]
    before = {name: getattr(jax.config, name) for name in names}
    with _program_cache.compiled_programs():
        jax.jit(lambda x: x * 41.5)(1.0).block_until_ready()
        assert list(programs.glob("*-cache"))
    assert {name: getattr(jax.config, name) for name in names} == before


def test_a_folder_that_others_may_write_is_not_used(programs):
    programs.mkdir()
    programs.chmod(0o777)
    with _program_cache.compiled_programs():
        assert jax.config.values["jax_compilation_cache_dir"] is None
        assert _programs._runner is None


def test_a_cache_of_the_user_is_left_alone(programs, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    with _program_cache.compiled_programs():
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "theirs")
    assert not programs.exists()
