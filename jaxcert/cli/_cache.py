"""Compiled programs kept from one run of the command to the next, in the user's cache folder."""

import contextlib
import os
import platform
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import platformdirs
from jax.experimental.compilation_cache import compilation_cache

# What is least used goes first; a `jaxcert certify` takes about 1 MB.
_MAX_BYTES = 2**28


def folder() -> Path:
    """Where the programs lie: in `~/.cache/jaxcert/programs` on Linux, those of each kind of processor apart."""
    return Path(platformdirs.user_cache_dir("jaxcert", appauthor=False)) / "programs" / processor()


def processor() -> str:
    """The instructions of this processor, of which JAX's key of a program says nothing."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # no Linux, or a sandbox
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.machine()}-{zlib.crc32(flags.encode()):08x}"


@contextlib.contextmanager
def compiled_programs() -> Iterator[None]:
    """Use JAX's persistent compilation cache inside, unless the user has set up one; afterwards all is as before.

    The library itself leaves JAX's settings alone. A folder that cannot be written is done without.
    """
    wanted: dict[str, Any] = {
        "jax_compilation_cache_dir": str(folder()),
        "jax_compilation_cache_max_size": _MAX_BYTES,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    if before["jax_compilation_cache_dir"] is not None or not _writable(folder()):
        yield
        return
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[str, Any]) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # JAX reads the settings once


def _writable(path: Path) -> bool:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK)
