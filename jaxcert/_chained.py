"""Logs of JSON lines, each with a hash of all entries up to it; of a killed process at most the last line is cut."""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxcert._files import check_output, content_of, lock_of, naming, parsed, write_new

# What each line begins with, its place from 0, and ends with.
_NUMBER, _CHAIN = "number", "chain"
# What completes a line that was cut short within a name or before it, or within a value or after it, which may be text,
# a number, a word or a list of these.
_HEAD = f'{{"{_NUMBER}": '.encode()
_ESCAPED = (b'"', b'n"', *(b"0" * i + b'"' for i in range(1, 5)))
_WORDS = tuple(word[i:] for word in (b"true", b"false", b"null") for i in range(1, len(word)))
_ENDS = (
    *(text + b": 0}" for text in (b"", *_ESCAPED)),
    b' "a": 0}',
    *(value + end for value in (b"", b"0", *_ESCAPED, *_WORDS) for end in (b"}", b"]}")),
)
_FORGOTTEN = "lines that it had before are missing or altered; expected these and perhaps more"

# Takes in an entry; ValueError if it cannot follow those before.
Take = Callable[[Mapping[str, Any]], None]


class ChainedLog:
    """A log that several processes may share; who reads it needs neither its lock nor a writable folder.

    An entry that is altered, inserted or missing before others is found. One that is missing at the end is found only
    by who has read it; a log that was written anew, with its hashes, is not found.

    Args:
        path: of the file.
        kind: of the log, with its article, in messages.

    Raises:
        ImportError: without filelock (extra ``io``).

    Attributes:
        lock: held by who adds entries.
        content: the lines that were read, or added, without what a write that was cut short left after them.
        torn: this.
        chain: the hash of the last of them; "" before the first.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.lock = path, lock_of(path)
        self._kind, self._number = kind, 0
        self.content, self.torn, self.chain = b"", b"", ""

    @staticmethod
    def start(path: str | os.PathLike[str], entry: Mapping[str, Any]) -> None:
        """Write the first entry in a new file; FileExistsError for one that exists."""
        write_new(check_output(path), f"{line_of({_NUMBER: 0, **entry})[0]}\n".encode())

    @property
    def is_begun(self) -> bool:
        """Whether there is an entry, or was one."""
        return bool(self.content) or (self.path.exists() and self.path.stat().st_size > 0)

    def read(self, take: Take, *, cut: bool) -> None:
        """Take in the entries that were added since; ``cut`` ends an unfinished line, which needs the lock.

        Raises:
            ValueError: for a file without these lines, or with others than such entries; nothing is read then.
        """
        content = self._bytes()
        if not content.startswith(self.content):
            raise ValueError(f"{self.path}: {_FORGOTTEN}")
        added = content[len(self.content) :]
        is_ended = self.content[-1:] in (b"", b"\n")
        lines, torn = lines_of(added if is_ended else added.removeprefix(b"\n"))
        chain = self.chain
        for number, line in enumerate(lines, start=self._number):
            chain = self._taken(take, line, number, chain)
        whole = content.removesuffix(torn)
        if cut:
            _end_last(self.path, content, torn)
            whole, torn = whole and whole.removesuffix(b"\n") + b"\n", b""
        self.content, self.torn, self.chain, self._number = whole, torn, chain, self._number + len(lines)

    def _bytes(self) -> bytes:
        if not self.content:
            return content_of(self.path, self._kind)
        return self.path.read_bytes() if self.path.exists() else b""

    def _taken(self, take: Take, line: bytes, number: int, before: str) -> str:
        """Take in the entry of a line, and give its hash."""
        try:
            entry = parsed(line)
            if not isinstance(entry, dict) or type(entry.get(_NUMBER)) is not int or entry[_NUMBER] != number:
                raise ValueError(
                    f"expected an object of JSON with the number {number}, as lines are neither lost nor repeated"
                )
            chain = _linked(entry, before)
            take(entry)
        except ValueError as error:
            raise ValueError(f"{self.path}: line {number + 1} is no entry of {self._kind}: {error}") from error
        return chain

    def add(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add entries, on the disk when this returns, and give them with their numbers.

        Under the lock, after ``read`` with ``cut``.
        """
        numbered = [{_NUMBER: number, **entry} for number, entry in enumerate(entries, start=self._number)]
        lines, chain = [], self.chain
        for entry in numbered:
            line, chain = line_of(entry, chain)
            lines.append(f"{line}\n")
        if lines:
            _append(self.path, text := "".join(lines).encode())
            self.content, self.chain, self._number = self.content + text, chain, self._number + len(lines)
        return numbered

    def warn(self) -> None:
        """Warn, where a class is opened by its caller, of a last line that does not count."""
        if self.torn:
            words = "its last line is incomplete, being written or cut short, and does not count"
            warnings.warn(f"{self.path}: {words}: {self.torn[:60]!r}", stacklevel=3)


def line_of(entry: Mapping[str, Any], before: str = "") -> tuple[str, str]:
    """The line of an entry after the one with this hash, without its ending, and its own hash."""
    chain = _hash(entry, before)
    return json.dumps({**entry, _CHAIN: chain}, allow_nan=False), chain


def _linked(entry: Mapping[str, Any], before: str) -> str:
    """The hash of an entry after the one with this hash; ValueError for none, or another."""
    if _CHAIN not in entry:
        raise ValueError("has no chain; expected the hash of all entries up to it")
    if entry[_CHAIN] != _hash(entry, before):
        raise ValueError("its chain is not the hash of all entries up to it: one was altered, is missing or was added")
    return entry[_CHAIN]


def _hash(entry: Mapping[str, Any], before: str) -> str:
    text = json.dumps({name: value for name, value in entry.items() if name != _CHAIN})
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()


def lines_of(content: bytes) -> tuple[list[bytes], bytes]:
    """The lines, and what a write that was cut short left after them; a line that lacks only its ending is whole."""
    *lines, last = content.split(b"\n")
    return (lines, last) if not last or _is_start(last) else ([*lines, last], b"")


def _is_start(line: bytes) -> bool:
    """Whether it is what a write that was cut short leaves: the start of one entry, without its end."""
    if not (line.startswith(_HEAD) or _HEAD.startswith(line)):
        return False
    return line == _HEAD[: len(line)] or any(_is_object(line + end) for end in _ENDS)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _append(path: Path, lines: bytes) -> None:
    """Write lines, on the disk when this returns; if they cannot be written, nothing is left if that can be done."""
    with naming(path), path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            if file.write(lines) < len(lines):
                raise OSError("written in part")
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file.fileno(), size)
            raise


def _end_last(path: Path, content: bytes, torn: bytes) -> None:
    """End a last line that has no ending, before another one is written.

    A line that is whole counts. What was cut short is taken away: the call that wrote it did not return, so
    that nothing was done because of it.
    """
    if torn:
        warnings.warn(f"{path}: its last line was incomplete, and is cut off: {torn[:60]!r}", stacklevel=4)
        with naming(path):
            os.truncate(path, len(content) - len(torn))
    elif content and not content.endswith(b"\n"):
        with naming(path), path.open("ab") as file:
            file.write(b"\n")
