"""Writing a file completely or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be written there; checked before a long computation, so that its result is not lost.

    Args:
        path: the file; an existing one would be replaced.

    Raises:
        ValueError: the folder does not exist or cannot be written to, or the path is no regular file.

    Example:
        >>> check_output("result.json").name
        'result.json'
    """
    path = Path(path)
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {str(folder)!r} does not exist, expected an existing one")
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise ValueError(f"{path}: is {kind}, expected the name of a file to write")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {str(folder)!r} cannot be written to")
    return path


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to a new file beside `path` and move it there in one step."""
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[IO[bytes]]:
    """A new file beside `path`, moved there in one step once it is complete and on the disk.

    Args:
        path: the file.
        replace: replace an existing file; if false, raise FileExistsError.
    """
    target = Path(os.path.realpath(check_output(path)))  # follow a link, so that the link itself stays
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, target)
        else:
            _place_new(temporary, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def _place_new(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with open(target, "xb") as file:
            file.write(temporary.read_bytes())
