"""What a file holds: its bytes, or words that say why not; and JSON that has one meaning."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def content_of(path: str | os.PathLike[str], expected: str) -> bytes:
    """The bytes of a file; ``expected`` says what is missing from an empty one.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: it cannot be read.
        ValueError: it is a folder, a device or empty.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise ValueError(f"{path}: is {kind}, expected a file")
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


@contextlib.contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """ValueErrors of what a file holds name it, on one line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {' '.join(str(error).split())}") from error


def parsed(text: str | bytes, **options: Any) -> Any:
    """The value of JSON in which no object has a name twice, since readers differ in which of the two they take.

    Raises:
        ValueError: for anything else, also what is nested too deeply.
    """
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
