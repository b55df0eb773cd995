"""Names of policies in statements, compared with the given files."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.tables._returns import ReturnsFile, names_of


class _Named(NamedTuple):
    """A policy: its name in statements, the file in the record, and the one that was given."""

    name: str
    recorded: str
    file: ReturnsFile

    @property
    def source(self) -> str:
        """Its name in a column of policies, else that of the file that was given."""
        return self.file.policy or self.file.path.name

    @property
    def by_hand(self) -> bool:
        """Whether the name is neither that of a column nor that of a file, so that nothing proves it."""
        return (self.file.policy or self.recorded) not in (self.name, Path(self.name).name)


def of_names(document: Mapping[str, Any], data: Sequence[Sequence[ReturnsFile]]) -> Iterator[str]:
    """Names in statements that are those of other files than the ones whose content was checked."""
    for policies in _named(document, data):
        sources = [each.source for each in policies]
        for each, source in zip(policies, sources, strict=True):
            if each.name in sources if each.by_hand else (each.file.policy or each.recorded) != source:
                yield f"its statements say {each.name!r}, these files {source!r}"


def told_names(document: Mapping[str, Any], data: Sequence[Sequence[ReturnsFile]]) -> str:
    """Which file has which name that was given by hand, in words; empty for none."""
    found: dict[str, None] = {}
    for policies in _named(document, data):
        files = names_of([dataclasses.replace(each.file, called=None) for each in policies])
        pairs = list(zip(policies, files, strict=True))
        if any(each.name not in (each.recorded, file) for each, file in pairs):
            found |= dict.fromkeys(f"{each.name} is {file}" for each, file in pairs)
    return f"names as the file has them: {', '.join(found)}" if found else ""


def _named(document: Mapping[str, Any], data: Sequence[Sequence[ReturnsFile]]) -> Iterator[list[_Named]]:
    """The policies that are named together: those of a leaderboard, for each question again, or the two of a record."""
    files = [
        list(zip([record["data"] or {}, *record.get("others", [])], read, strict=False))
        for record, read in zip(document["certificates"], data, strict=True)
    ]
    if "leaderboard" not in document:
        for held in files:
            yield [_Named(one["called"], one.get("file", ""), file) for one, file in held if one.get("called")]
        return
    names = [each["policy"] for each in document["leaderboard"]["order"]]
    for place in range(0, len(files), len(names)):
        held = [each[0] for each in files[place : place + len(names)]]
        yield [_Named(name, one.get("file", ""), file) for name, (one, file) in zip(names, held, strict=True)]
