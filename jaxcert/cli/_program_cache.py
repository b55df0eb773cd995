"""The programs that JAX has compiled, which are kept from one command to the next."""

import contextlib
import os
import platform
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import platformdirs

from jaxcert.cli._kept_programs import kept_in, read_again

# The least recently used programs are deleted first; a `jaxcert certify` takes about 1 MB.
_MAX_BYTES = 2**28
_DAMAGED = ("Error reading persistent compilation cache", "Error writing persistent compilation cache")


def folder() -> Path:
    """The folder of the programs: in `~/.cache/jaxcert/programs` on Linux, separate for each kind of processor."""
    return Path(platformdirs.user_cache_dir("jaxcert", appauthor=False)) / "programs" / processor()


def processor() -> str:
    """The instruction set of this processor, which JAX's cache key does not include."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux, or a sandbox
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.machine()}-{zlib.crc32(flags.encode()):08x}"


@contextlib.contextmanager
def compiled_programs() -> Iterator[None]:
    """A context with JAX's persistent compilation cache, unless the user has one, or may not write there alone."""
    wanted: dict[str, Any] = {
        "jax_compilation_cache_dir": str(folder()),
        "jax_compilation_cache_max_size": _MAX_BYTES,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    if before["jax_compilation_cache_dir"] is not None or not _is_own(folder()):
        yield
        return
    _set(wanted)
    try:
        with warnings.catch_warnings():
            show = warnings.showwarning
            warnings.showwarning = lambda message, *rest: None if _emptied(str(message)) else show(message, *rest)
            with kept_in(folder()):
                yield
    finally:
        _set(before)


def _emptied(warning: str) -> bool:
    """Empty the folder if a warning is about a damaged program, which JAX would keep, and always warn."""
    is_damaged = warning.startswith(_DAMAGED)
    for file in (*folder().glob("*-cache"), *folder().glob("*-atime")) if is_damaged else ():
        file.unlink(missing_ok=True)
    return is_damaged


def _set(values: dict[str, Any]) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    read_again()


def _is_own(path: Path) -> bool:
    """Whether this user alone may write there, whose programs are run."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = path.stat()
    except OSError:
        return False
    is_mine = not hasattr(os, "getuid") or (held.st_uid == os.getuid() and not held.st_mode & 0o022)
    return is_mine and os.access(path, os.W_OK)
