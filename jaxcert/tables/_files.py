"""Files: read with words for what is wrong, written completely or not at all, and locked while a process has them."""

import contextlib
import json
import os
import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

from jaxcert._extras import import_extra

# Nearly everywhere a name may have 255 bytes. A temporary file adds up to 25 to it.
_LONGEST = 230
_TEMPORARY = ".tmp"
# Timeout for a lock that another process holds while it writes.
_SECONDS = 60


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be written there; checked before a long computation, so that its result is not lost."""
    path = Path(path)
    length = len(os.fsencode(path.name))
    if length > _LONGEST:
        raise ValueError(f"{path}: a name of {length} bytes; expected at most {_LONGEST}, to which more is added")
    return _check_place(path)


def _check_place(path: Path) -> Path:
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {str(folder)!r} does not exist, expected an existing one")
    _check_kind(path, "the name of a file to write")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {str(folder)!r} cannot be written to")
    return path


def _check_kind(path: Path, expected: str) -> None:
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise ValueError(f"{path}: is {kind}, expected {expected}")


def write_whole(path: str | os.PathLike[str], content: bytes | str, *, replace: bool = True) -> None:
    """Write `content` as `whole_file` does."""
    with whole_file(path, replace=replace) as file:
        # Names of files that are not in UTF-8 are escaped.
        file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


def _move_to_free(temporary: Path, target: Path) -> None:
    """Give a file a name that nobody has, even if another one appears there at this moment."""
    try:
        os.link(temporary, target)
    except FileExistsError as error:
        raise FileExistsError(f"{target}: exists, and is not replaced") from error
    except OSError:  # a disk without hard links: an empty file takes the name first
        target.open("xb").close()
        os.replace(temporary, target)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[IO[bytes]]:
    """A new file beside `path`, moved there in one step once it is complete and on the disk.

    An existing file is replaced. With `replace=False` it stays, even one that appears meanwhile: FileExistsError.
    """
    target = Path(os.path.realpath(_check_place(Path(path))))  # follow a link, so that the link itself stays
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_TEMPORARY}")
    with naming(path):
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            (os.replace if replace else _move_to_free)(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the disk in words that name the file, since an error of a write names none, or a temporary one."""
    try:
        yield
    except OSError as error:
        is_ours = error.filename is None or os.fsdecode(error.filename).endswith(_TEMPORARY)
        if not is_ours or isinstance(error, FileExistsError):
            raise
        named = OSError(f"{path}: cannot be written ({error.strerror or error})")
        named.errno = error.errno
        raise named from error


def lock_of(path: Path) -> Any:
    """The lock of a log that processes share, a file beside it; who only reads needs neither it nor the folder."""
    return import_extra("filelock", "io").FileLock(path.with_name(f"{path.name}.lock"), timeout=_SECONDS)


def check_suffix(path: str | os.PathLike[str], suffixes: Collection[str]) -> str:
    """The suffix of the path in lower case, or a ValueError if it is none of these."""
    if found := suffix_of(path, suffixes):
        return found
    raise ValueError(f"{path}: suffix {Path(path).suffix!r}, expected one of {', '.join(suffixes)}")


def suffix_of(path: str | os.PathLike[str], suffixes: Collection[str]) -> str | None:
    """That of these which the path has, in upper or lower case; they may be double ones such as `.csv.gz`."""
    name = Path(path).name.lower()
    return next((suffix for suffix in suffixes if name.endswith(suffix) and name != suffix), None)


# --- reading ------------------------------------------------------------------------------------------------------


def content_of(path: str | os.PathLike[str], expected: str) -> bytes:
    """The bytes of a file; ValueError for a folder, a device or an empty file, with what is ``expected``."""
    path = Path(path)
    try:
        _check_kind(path, "a file")  # a pipe would be waited for
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not content:
        raise ValueError(f"{path}: is empty (0 bytes), expected {expected}")
    return content


def unreadable(path: str | os.PathLike[str], error: OSError) -> OSError:
    """The error of a file that cannot be read, in words that name it."""
    is_missing = isinstance(error, FileNotFoundError)
    words = "no such file" if is_missing else f"cannot be read ({error.strerror or error})"
    named = type(error)(f"{os.fspath(path)}: {words}")
    named.errno = error.errno
    return named


class SaidError(ValueError):
    """Says already what is wrong."""


@contextlib.contextmanager
def damage_told(kind: str) -> Iterator[None]:
    """Any error of a parser on damaged bytes as a ValueError in words."""
    try:
        yield
    except (ImportError, SaidError):
        raise
    except Exception as error:
        if "Object arrays" in str(error):
            raise ValueError("holds pickled objects, which are never loaded; expected plain arrays") from error
        raise ValueError(f"cannot be read as {kind}, damaged or cut short ({error})") from error


@contextlib.contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """ValueErrors of what a file holds name it, on one line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {' '.join(str(error).split())}") from error


def parsed(text: str | bytes, **options: Any) -> Any:
    """The value of JSON in which no object has a name twice, since readers differ in which of the two they take."""
    try:
        return json.loads(text, object_pairs_hook=_once, **options)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found
