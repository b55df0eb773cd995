"""Logs with entries of a test's own, and the hashes that belong to them: as whoever alters a log can compute them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxcert.rollouts._chained import line_of


def log_of(entries: Iterable[Mapping[str, Any]]) -> bytes:
    """The content of a log with these entries, numbered where they are not."""
    lines, chain = [], ""
    for number, entry in enumerate(entries):
        line, chain = line_of({"number": number, **{name: entry[name] for name in entry if name != "chain"}}, chain)
        lines.append(f"{line}\n".encode())
    return b"".join(lines)


def entries_of(path: Path) -> list[dict[str, Any]]:
    """The entries of a log, with their hashes."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def declare_otherwise(path: Path, changed: Mapping[str, Any]) -> None:
    """Change what a log declares."""
    first, *others = entries_of(path)
    path.write_bytes(log_of([{**first, **changed}, *others]))


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add an entry to a log."""
    path.write_bytes(log_of([*entries_of(path), {"time": "now", **entry}]))
