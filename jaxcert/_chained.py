"""Logs of JSON lines, each with a hash of all entries up to it; of a killed process at most the last line is cut."""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxcert._files import naming

# The last entry of each line.
_CHAIN = "chain"
# How each line begins; and what completes one that was cut short within a name or before it, or within a value or after
# it, which may be text, a number, a word or a list of these.
_HEAD = b'{"number": '
_ESCAPED = (b'"', b'n"', *(b"0" * i + b'"' for i in range(1, 5)))
_WORDS = tuple(word[i:] for word in (b"true", b"false", b"null") for i in range(1, len(word)))
_ENDS = (
    *(text + b": 0}" for text in (b"", *_ESCAPED)),
    b' "a": 0}',
    *(value + end for value in (b"", b"0", *_ESCAPED, *_WORDS) for end in (b"}", b"]}")),
)


def line_of(entry: Mapping[str, Any], chains: list[str]) -> tuple[str, str]:
    """The line of an entry after the entries with these hashes, without its ending, and its own hash."""
    chain = _chain(entry, chains)
    return json.dumps({**entry, _CHAIN: chain}, allow_nan=False), chain


def linked(entry: Mapping[str, Any], chains: list[str], *, is_chained: bool) -> str:
    """The hash of an entry after entries with these hashes; ValueError for another, or none where others have one."""
    chain = _chain(entry, chains)
    if is_chained and _CHAIN not in entry:
        raise ValueError("has no chain, expected the hash of all entries up to it, which earlier entries have")
    if entry.get(_CHAIN, chain) != chain:
        raise ValueError("its chain is not the hash of all entries up to it: one was altered, is missing or was added")
    return chain


def has_chain(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has a hash; entries of earlier versions have none."""
    return _CHAIN in entry


def _chain(entry: Mapping[str, Any], chains: list[str]) -> str:
    text = json.dumps({name: value for name, value in entry.items() if name != _CHAIN})
    return hashlib.sha256("".join([*chains[-1:], text]).encode()).hexdigest()


def is_start(line: bytes) -> bool:
    """Whether it is what a write that was cut short leaves: the start of one entry, without its end."""
    if not (line.startswith(_HEAD) or _HEAD.startswith(line)):
        return False
    return line == _HEAD[: len(line)] or any(_is_object(line + end) for end in _ENDS)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def lines_of(content: bytes) -> tuple[list[bytes], bytes]:
    """The lines, and what a write that was cut short left after them; a line that lacks only its ending is whole."""
    *lines, last = content.split(b"\n")
    return (lines, last) if not last or is_start(last) else ([*lines, last], b"")


def warn_of(path: Path, torn: bytes) -> None:
    """Warn, where a class is opened by its caller, of a last line that does not count."""
    if torn:
        words = "its last line is incomplete, being written or cut short, and does not count"
        warnings.warn(f"{path}: {words}: {torn[:60]!r}", stacklevel=3)


def append(path: Path, text: str) -> None:
    """Write a line, on the disk when this returns; one that cannot be written leaves nothing, if that can be done."""
    with naming(path), path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            line = f"{text}\n".encode()
            if file.write(line) < len(line):
                raise OSError("written in part")
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file.fileno(), size)
            raise


def end_last(path: Path, content: bytes, torn: bytes, *, start: int = 0) -> None:
    """End a last line that has no ending, before another one is written; ``content`` follows the first ``start`` bytes.

    A line that is whole counts. What was cut short is taken away: the call that wrote it did not return, so
    that nothing was done because of it.
    """
    if torn:
        warnings.warn(f"{path}: its last line was incomplete, and is cut off: {torn[:60]!r}", stacklevel=2)
        with naming(path):
            os.truncate(path, start + len(content) - len(torn))
    elif content and not content.endswith(b"\n"):
        with naming(path), path.open("ab") as file:
            file.write(b"\n")
