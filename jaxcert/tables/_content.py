"""What files hold: read and parsed, with words for what is wrong."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxcert._files import check_kind, unreadable


def content_of(path: str | os.PathLike[str], expected: str) -> bytes:
    """The bytes of a file; ValueError for a folder, a device or an empty file, with what is ``expected``."""
    path = Path(path)
    try:
        check_kind(path, "a file")  # a pipe would be waited for
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not content:
        raise ValueError(f"{path}: is empty (0 bytes), expected {expected}")
    return content


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
