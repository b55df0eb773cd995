"""Files: written completely or not at all, and archives of arrays read without unpickling."""

import contextlib
import io
import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be written there; checked before a long computation, so that its result is not lost."""
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

    An existing file is replaced; with `replace=False` it is kept, and a FileExistsError raised.
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
        raise FileExistsError(f"{target}: exists, and is not replaced") from None
    except OSError:  # a file system without hard links
        with open(target, "xb") as file:
            file.write(temporary.read_bytes())


def check_suffix(path: str | os.PathLike[str], suffixes: Collection[str]) -> str:
    """The suffix of the path in lower case, if it is one of these, which may be double ones such as `.csv.gz`."""
    name = Path(path).name.lower()
    for suffix in suffixes:
        if name.endswith(suffix) and len(name) > len(suffix):
            return suffix
    raise ValueError(f"{path}: suffix {Path(path).suffix!r}, expected one of {', '.join(suffixes)}")


def read_arrays(content: bytes, required: Sequence[str], others: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file: the required ones, and those of ``others`` that are there (all if None).

    Nothing is ever unpickled, and damage of any kind is a ValueError.
    """
    if not content.startswith(b"PK\x03\x04"):
        raise ValueError("not an .npz file: it does not start as a zip archive does")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            names = archive.files
            arrays = {name: archive[name] for name in names if others is None or name in (*required, *others)}
    except Exception as error:  # any error of the zip and array parsers on damaged bytes
        if "Object arrays" in str(error):
            raise ValueError("holds pickled objects, which are never loaded; expected plain arrays") from error
        raise ValueError(f"cannot be read as an .npz file, damaged or cut short ({error})") from error
    for name in required:
        if name not in arrays:
            listed = ", ".join(repr(other[:40]) for other in names[:8]) or "no array at all"
            raise ValueError(f"has no array {name!r}, found {listed}")
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # NumPy gives other members of the archive as bytes
            raise ValueError(f"{name!r} is no array; expected plain arrays")
    return arrays
