"""Files that are written completely or not at all."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import IO

from jaxcert._leftovers import is_temporary, new_temporary, remove_temporaries

# A name may have 255 bytes nearly everywhere; 25 are kept for what is added: `.unfinished`, and a temporary file's.
_LONGEST = 230


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
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise ValueError(f"{path}: is {kind}, expected the name of a file to write")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {str(folder)!r} cannot be written to")
    return path


def write_whole(path: str | os.PathLike[str], content: bytes, *, replace: bool = True) -> None:
    """Write `content` as `whole_file` does."""
    with whole_file(path, replace=replace) as file:
        file.write(content)


def write_new(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content`, completely or not at all, to a file that does not exist; else raise FileExistsError."""
    with _written(path, _place_new) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[IO[bytes]]:
    """A new file beside `path`, moved there in one step once it is complete and on the disk.

    An existing file is replaced. With `replace=False` it stays, even one that appears at the last moment; then what was
    written goes to a free name beside it, which a FileExistsError tells.
    """
    with _written(path, _move if replace else _place_beside) as file:
        yield file


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the disk in words that name the file, since an error of a write names none, or a temporary one."""
    try:
        yield
    except OSError as error:
        is_ours = error.filename is None or is_temporary(error.filename)
        if not is_ours or isinstance(error, FileExistsError):
            raise
        named = OSError(f"{path}: cannot be written ({error.strerror or error})")
        named.errno = error.errno
        raise named from error


@contextlib.contextmanager
def _written(path: str | os.PathLike[str], place: Callable[[Path, Path], None]) -> Iterator[IO[bytes]]:
    """A temporary file, then placed where it belongs."""
    target = Path(os.path.realpath(_check_place(Path(path))))  # follow a link, so that the link itself stays
    remove_temporaries(target)
    with naming(path):
        file, held = new_temporary(target)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            place(Path(file.name), target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file.name)
            held.release()


def _move(temporary: Path, target: Path) -> None:
    os.replace(temporary, target)


def _place_new(temporary: Path, target: Path) -> None:
    try:
        _link(temporary, target)
    except FileExistsError:
        raise FileExistsError(f"{target}: exists, and is not replaced") from None


def _link(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: an empty file reserves the name
        open(target, "xb").close()
        try:
            os.replace(temporary, target)
        except OSError:
            target.unlink()
            raise


def _is_placed(temporary: Path, target: Path) -> bool:
    try:
        _place_new(temporary, target)
    except FileExistsError:
        return False
    return True


def _place_beside(temporary: Path, target: Path) -> None:
    """Place the file there; if another is there by now, at the first free name of `out.1.json`, `out.2.json`, ..."""
    other, number = target, 0
    while not _is_placed(temporary, other):
        number += 1
        other = target.with_name(f"{target.stem}.{number}{target.suffix}")
    if other != target:
        raise FileExistsError(f"{target}: exists by now, and is not replaced; what was written is in {other}")


def check_suffix(path: str | os.PathLike[str], suffixes: Collection[str]) -> str:
    """The suffix of the path in lower case, if it is one of these, which may be double ones such as `.csv.gz`."""
    name = Path(path).name.lower()
    for suffix in suffixes:
        if name.endswith(suffix) and len(name) > len(suffix):
            return suffix
    raise ValueError(f"{path}: suffix {Path(path).suffix!r}, expected one of {', '.join(suffixes)}")
