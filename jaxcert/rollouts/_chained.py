"""Logs of JSON lines, each with a hash of all entries up to it; of a killed process at most the last line is cut."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

from jaxcert._validation import typed, warn
from jaxcert.tables._files import check_output, content_of, lock_of, naming, parsed, write_whole

# What each line begins with, its place from 0, and ends with.
_NUMBER, _CHAIN = "number", "chain"
# What a line that was cut short begins with, or is the start of, and what it does not hold yet.
_HEAD, _HASH = f'{{"{_NUMBER}": '.encode(), re.compile(f'"{_CHAIN}": "[0-9a-f]{{64}}"}}'.encode())
# More than the hash of an entry, which is the last of its line.
_TAIL = 100
_FORGOTTEN = "lines that it had before are missing or altered; expected these and perhaps more"

Value = TypeVar("Value")


class _Read(NamedTuple, Generic[Value]):
    """The read part of a log; replaced as a whole, so an interrupted read resumes from there."""

    size: int  # in bytes
    number: int  # of lines
    tail: bytes  # the last of these bytes
    chain: str  # the hash of the last entry, which is in the tail
    torn: bytes  # what a write that was cut short left after them
    sha256: Any  # of these bytes, to be copied
    value: Value


class ChainedLog(Generic[Value]):
    """A log that several processes may share, and what its entries come to.

    Who reads it needs neither its lock nor a writable folder. An entry that is altered, inserted or missing before
    others is found when the log is opened. One that is missing at the end is found only by who has read it; a log that
    was written anew, with its hashes, is not found.

    ``path`` is None for a log that lives as long as its process, ``kind`` its name with an article, and ``value`` what
    no entry comes to. ``take`` adds entries to a value one after the other, or raises ValueError for one that cannot
    follow those before.
    """

    def __init__(
        self, path: Path | None, kind: str, value: Value, take: Callable[[Value, Iterator[Any]], Value]
    ) -> None:
        self.path: Any = path
        self._kind, self._take = kind, take
        self._lock = contextlib.nullcontext() if path is None else lock_of(path)
        self._read = _Read(0, 0, b"", "", b"", hashlib.sha256(), value)

    @staticmethod
    def start(path: str | os.PathLike[str], entry: Mapping[str, Any]) -> None:
        """Write the first entry in a new file; FileExistsError for one that exists."""
        with lock_of(check_output(path)):
            write_whole(path, f"{line_of({_NUMBER: 0, **entry})[0]}\n", replace=False)

    @property
    def value(self) -> Value:
        """The value of the entries read so far."""
        return self._read.value

    @property
    def chain(self) -> str:
        """The hash of the last entry; "" before the first."""
        return self._read.chain

    @property
    def sha256(self) -> str:
        """The SHA-256 of the log up to its last complete line, which a line break ends."""
        digest = self._read.sha256.copy()
        digest.update(b"" if self._is_ended else b"\n")
        return digest.hexdigest()

    @property
    def _is_ended(self) -> bool:
        return self._read.tail[-1:] in (b"", b"\n")

    @property
    def is_begun(self) -> bool:
        """Whether there is an entry in a file, or was one."""
        path = self.path
        return path is not None and (self._read.size > 0 or (path.exists() and path.stat().st_size > 0))

    @contextlib.contextmanager
    def adding(self) -> Iterator[Callable[[Sequence[Mapping[str, Any]]], None]]:
        """Give the function that adds entries after all that are there, on the disk when it returns; others wait."""
        with self._lock:
            if self.is_begun:
                self.read()
                self._cut_torn()
            yield self._add

    def read(self) -> None:
        """Take in the entries that were added since.

        Raises:
            ValueError: for a file without these lines, or with others than such entries; nothing is read then.
        """
        before, added = self._read, self._added()
        lines, torn = lines_of(added if self._is_ended else added.removeprefix(b"\n"))
        number, chain = before.number, before.chain

        def entries() -> Iterator[dict[str, Any]]:
            nonlocal number, chain
            for line in lines:
                entry, chain = _entry_of(line, number, chain)
                yield entry
                number += 1

        try:
            value = self._take(before.value, entries())
        except ValueError as error:
            raise ValueError(f"{self.path}: line {number + 1} is no entry of {self._kind}: {error}") from error
        whole = added.removesuffix(torn)
        sha256 = before.sha256.copy()
        sha256.update(whole)
        tail = (before.tail + whole)[-_TAIL:]
        self._read = _Read(before.size + len(whole), number, tail, chain, torn, sha256, value)

    def _add(self, entries: Sequence[Mapping[str, Any]]) -> None:
        if self.path is None:
            self._read = self._read._replace(value=self._take(self.value, iter(entries)))
            return
        # A last line without an ending, as an editor may leave it, gets one before another is written.
        lines, chain = [] if self._is_ended else ["\n"], self._read.chain
        for number, entry in enumerate(entries, start=self._read.number):
            line, chain = line_of({_NUMBER: number, **entry}, chain)
            lines.append(f"{line}\n")
        if entries:
            _append(self.path, "".join(lines).encode())
            self.read()

    def warn(self) -> None:
        """Warn of a last line that does not count."""
        if self._read.torn:
            words = "its last line is incomplete, being written or cut short, and does not count"
            warn(f"{self.path}: {words}: {self._read.torn[:60]!r}")

    def _added(self) -> bytes:
        """The bytes after those already read."""
        before = self._read
        if not before.size:
            return content_of(self.path, self._kind)
        content = b""
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(before.size - len(before.tail))
            content = file.read()
        if not content.startswith(before.tail):
            raise ValueError(f"{self.path}: {_FORGOTTEN}")
        return content[len(before.tail) :]

    def _cut_torn(self) -> None:
        """Take away what was cut short: the call that wrote it did not return, so nothing was done because of it."""
        if self._read.torn:
            warn(f"{self.path}: its last line was incomplete, and is cut off: {self._read.torn[:60]!r}")
            with naming(self.path):
                os.truncate(self.path, self._read.size)
            self._read = self._read._replace(torn=b"")


def line_of(entry: Mapping[str, Any], before: str = "") -> tuple[str, str]:
    """The line of an entry after the one with this hash, without its ending, and its own hash."""
    chain = _hash(entry, before)
    return json.dumps({**entry, _CHAIN: chain}, allow_nan=False), chain


def _entry_of(line: bytes, number: int, before: str) -> tuple[dict[str, Any], str]:
    """The entry of a line, which has this number and follows the entry with this hash, and its own hash."""
    entry = parsed(line)
    if not isinstance(entry, dict) or type(entry.get(_NUMBER)) is not int or entry[_NUMBER] != number:
        raise ValueError(f"expected an object of JSON with the number {number}, as lines are neither lost nor repeated")
    if _CHAIN not in entry:
        raise ValueError("has no chain; expected the hash of all entries up to it")
    if entry[_CHAIN] != _hash(entry, before):
        raise ValueError("its chain is not the hash of all entries up to it: one was altered, is missing or was added")
    return entry, entry[_CHAIN]


def _hash(entry: Mapping[str, Any], before: str) -> str:
    text = json.dumps({name: value for name, value in entry.items() if name != _CHAIN})
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()


def lines_of(content: bytes) -> tuple[list[bytes], bytes]:
    """The lines, and what a write that was cut short left after them; a line that lacks only its ending is whole."""
    *lines, last = content.split(b"\n")
    is_start = (last.startswith(_HEAD) or _HEAD.startswith(last)) and not _HASH.search(last)
    return (lines, last) if is_start else ([*lines, last], b"")


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


def declared_in(entry: Mapping[str, Any] | None, kinds: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> Any:
    """The declaration in the first entry of a log, by its format read as one kind; ValueError for anything else."""
    if entry is None:
        raise ValueError("holds no complete line; expected what was declared as the first one")
    if entry.get("format") not in [*kinds]:
        raise ValueError(f"its format is {entry.get('format')!r:.40}; expected {' or '.join(map(repr, kinds))}")
    return kinds[entry["format"]](entry)


def fields_of(entry: Mapping[str, Any], kind: type, names: Iterable[str], place: str = "") -> dict[str, Any]:
    """The fields of these names, lists as tuples; ValueError for one of another type than the kind is annotated with.

    ``place``: of the fields, in messages.
    """
    hints = get_type_hints(kind)
    return {name: typed(f"{name} {place}".strip(), entry.get(name), hints[name]) for name in names}
