"""Programs kept for the next process, which loads them without tracing their functions again.

JAX finds a program that it kept by what tracing the function gives, which takes longer than all else that a command
does. Here it is found by what determines the trace: the source of this package, the function and its static arguments,
the types and shapes of the others, and the settings and releases of JAX. Whatever this cannot describe is not kept.
"""

import contextlib
import dataclasses
import functools
import hashlib
import os
import pickle
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
from jax.experimental import serialize_executable

import jaxcert
from jaxcert.numerics._programs import BEGUN, run_by
from jaxcert.tables._files import write_whole

# Those that were not used for the longest time are deleted. A program takes some 100 kB.
_MAX_BYTES = 2**27
_loaded: dict[str, Callable[..., Any]] = {}


class _NotDescribedError(Exception):
    """What a program depends on has no description that is the same in another process."""


@contextlib.contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """A context in which programs are kept in a folder that exists."""
    try:
        with run_by(functools.partial(_kept, folder)):
            yield
    finally:
        _loaded.clear()


def _kept(
    folder: Path,
    function: Callable[..., Any],
    compiled: Any,
    static: Sequence[int],
    options: Any,
    arguments: Sequence[Any],
) -> Any:
    """The result of a function that is jitted with these options as ``compiled``, by a program that is kept."""
    if jax.device_count() > 1:  # a description says nothing of where arrays are
        return compiled(*arguments)
    given = [each for place, each in enumerate(arguments) if place not in static]
    leaves, tree = jax.tree.flatten(given)
    types_given = str(tree), [str(jax.typeof(leaf)) for leaf in leaves], options
    try:
        about = _described((function, *(arguments[place] for place in static)))
        name = hashlib.sha256(repr((_source(), _settings(), about, types_given)).encode()).hexdigest()
    except (_NotDescribedError, RecursionError, ValueError):  # such as a function that captures itself
        return compiled(*arguments)
    if name not in _loaded:
        _loaded[name] = _program(folder / f"{name}.program", compiled, arguments, given)
    return _loaded[name](*given)


def _program(file: Path, compiled: Any, arguments: Sequence[Any], given: Sequence[Any]) -> Any:
    """The program in a file, or a new one, which is written there; a file that is damaged is replaced."""
    with contextlib.suppress(Exception):  # of any kind, depending on what is damaged
        program = _unpacked(file.name, _own_content(file))
        os.utime(file)
        return program
    with _without_cache():  # a program from JAX's own cache cannot be written again
        program = compiled.lower(*arguments).compile()
    with contextlib.suppress(Exception):  # a full disk, or a program that does not run from a file, is no failure
        held = file.name, serialize_executable.serialize(program)
        content = zlib.compress(pickle.dumps(held), 1)
        jax.block_until_ready(_unpacked(file.name, content)(*given))
        write_whole(file, content)
        files, total = sorted(file.parent.glob("*.program"), key=lambda each: each.stat().st_mtime, reverse=True), 0
        for each in files:
            total += each.stat().st_size
            if total > _MAX_BYTES:
                each.unlink(missing_ok=True)
    return program


def _own_content(file: Path) -> bytes:
    """The bytes of a file of this user, which nobody else may write: to load a program is to trust it."""
    with file.open("rb") as opened:
        held = os.fstat(opened.fileno())
        if hasattr(os, "getuid") and (held.st_uid != os.getuid() or held.st_mode & 0o022):
            raise PermissionError(file)
        return opened.read()


def _unpacked(name: str, content: bytes) -> Any:
    """The program of this name; an error if any of its bytes was changed, or if it is another one."""
    unpacking = zlib.decompressobj()
    held = unpacking.decompress(content)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError(name)
    of, program = pickle.loads(held)
    if of != name:
        raise ValueError(name)
    return serialize_executable.deserialize_and_load(*program)


@contextlib.contextmanager
def _without_cache() -> Iterator[None]:
    before = jax.config.values["jax_enable_compilation_cache"]
    jax.config.update("jax_enable_compilation_cache", False)
    read_again()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        read_again()


def read_again() -> None:
    """Let JAX read the settings of its cache, which it otherwise does once."""
    # No release promises this function; without it, the settings that were read first stay in force.
    with contextlib.suppress(ImportError, AttributeError):
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()


@functools.cache
def _source() -> str:
    """A digest of the source of this package, and the releases of what it is compiled with."""
    files = sorted(Path(jaxcert.__file__).parent.rglob("*.py"))
    if not files:
        raise _NotDescribedError
    changed = max(max(held.st_mtime, held.st_ctime) for held in map(Path.stat, files))
    if changed > BEGUN:  # what is loaded may be of the files before
        raise _NotDescribedError
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return f"{digest.hexdigest()} {jax.__version__} {jaxlib.version.__version__}"


def _settings() -> list[Any]:
    """The settings of JAX and XLA, without those of their caches."""
    own = {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}
    found = {**jax.config.values, **own, "x64": jnp.result_type(float)}
    return sorted((name, str(value)) for name, value in found.items() if "cache" not in name.lower())


def _described(value: Any) -> Any:
    """Plain values that are the same in each process if and only if these are the same."""
    if not isinstance(value, type | types.FunctionType):  # a function that is jitted
        value = getattr(value, "__wrapped__", value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    is_own = getattr(value, "__module__", "").partition(".")[0] == "jaxcert"  # so that its source is described
    if isinstance(value, types.FunctionType) and is_own:
        code, inside = value.__code__, [cell.cell_contents for cell in value.__closure__ or ()]
        inside += [*(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
        place = (code.co_firstlineno, code.co_code, [*code.co_positions()])  # two in one line may have one name
        return value.__module__, value.__qualname__, place, [*map(_described, inside)]
    is_of_own_type = type(value).__module__.partition(".")[0] == "jaxcert"
    if type(value) is tuple or (isinstance(value, tuple) and is_of_own_type):
        return str(type(value)), [_described(each) for each in value]
    if dataclasses.is_dataclass(value) and is_of_own_type:
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return str(type(value)), [_described(each) for each in fields]
    raise _NotDescribedError
