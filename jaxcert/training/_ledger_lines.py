"""The lines of the log of spent delta: one entry each, with a hash of all entries up to it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from jaxcert._contents import parsed

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
    """The line of an entry after those of these hashes, without its ending, and its own hash."""
    chain = _chain(entry, chains)
    return json.dumps({**entry, _CHAIN: chain}, allow_nan=False), chain


def linked(entry: Mapping[str, Any], chains: list[str], *, is_chained: bool) -> str:
    """The hash of an entry after those of these hashes; ValueError if it has another, or lacks one as others do not."""
    chain = _chain(entry, chains)
    if is_chained and _CHAIN not in entry:
        raise ValueError("has no chain, expected the hash of all entries up to it, which those before have")
    if entry.get(_CHAIN, chain) != chain:
        raise ValueError("its chain is not the hash of all entries up to it: one was altered, is missing or was added")
    return chain


def has_chain(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has a hash; those of earlier versions have none."""
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


def entry_of(line: bytes) -> dict[str, Any]:
    """The entry in a line; ValueError if there is none."""
    entry = parsed(line)
    if not isinstance(entry, dict):
        raise ValueError("expected an object of JSON")
    number, step, delta = (entry.get(name) for name in ("number", "step", "certify/delta"))
    if type(number) is not int or number < 1:
        raise ValueError("expected its number to be a whole one from 1")
    if type(step) is not int or step < 0:
        raise ValueError("expected its step to be a whole number from 0")
    if type(delta) is not float or not 0 < delta < 1:
        raise ValueError("expected its certify/delta to be a number in (0, 1)")
    if entry.get("done") and not isinstance(entry.get("policy"), str):
        raise ValueError("expected its policy to be a text")
    return entry
