"""Programs that XLA compiles for the tests: kept between runs, and counted."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from jaxcert.cli._program_cache import processor

_MAX_BYTES = 2**30


def _caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


FOLDER = _caches() / "jaxcert" / "tests" / processor()


def keep_programs() -> None:
    """Let JAX keep compiled programs in ``FOLDER``, also in the processes that tests start.

    JAX's own variables take precedence: ``JAX_COMPILATION_CACHE_DIR`` names another folder, and with
    ``JAX_ENABLE_COMPILATION_CACHE=false`` every program is compiled. The folder may be deleted at any time.
    """
    settings = {
        "jax_compilation_cache_dir": str(FOLDER),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        if name.upper() not in os.environ:
            os.environ[name.upper()] = str(value)
            jax.config.update(name, value)


def compile_quickly() -> None:
    """Where JAX leaves out most optimizations, let XLA compile in one piece and fuse loops in its older way.

    Tests of surfaces run so (``make test``), in half the time: compiling is most of it. Exactness is tested as users
    compile.
    """
    if jax.config.read("jax_disable_most_optimizations"):
        flags = ["--xla_cpu_parallel_codegen_split_count=1"]
        flags += ["--xla_cpu_use_fusion_emitters=false"] if jax.__version_info__ < (0, 11) else []  # later ones lack it
        os.environ["XLA_FLAGS"] = " ".join(filter(None, [os.environ.get("XLA_FLAGS"), *flags]))


def trim_programs(folder: Path = FOLDER, max_bytes: int = _MAX_BYTES) -> None:
    """Delete the least recently used programs, until the rest takes at most half of the limit."""
    files = [(file, file.stat()) for file in folder.glob("*-cache")]
    size = sum(stat.st_size for _, stat in files)
    if size <= max_bytes:
        return
    for file, stat in sorted(files, key=lambda entry: max(entry[1].st_atime, entry[1].st_mtime)):
        if size <= max_bytes // 2:
            break
        file.unlink(missing_ok=True)
        size -= stat.st_size


_seconds: list[float] = []


def _note(event: str, seconds: float, **_: Any) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _seconds.append(seconds)


jax.monitoring.register_event_duration_secs_listener(_note)


def so_far() -> int:
    """The number of programs requested from XLA in this process, whether compiled or found on disk."""
    return len(_seconds)


def compilations(call: Callable[[], Any]) -> int:
    """The number of programs requested during a call."""
    before = so_far()
    jax.block_until_ready(call())
    return so_far() - before
