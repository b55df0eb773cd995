"""Logs of Inspect: `.eval`, a zip archive of JSON, and `.json`. A task is a sample, a rollout one of its epochs."""

import itertools
import math
from typing import Any

from jaxcert.tables._columns import Columns
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._fields import Place
from jaxcert.tables.formats._found_rollouts import Format, Rollouts, asked_for

_VERSION = 2
# Published: correct, incorrect, partial credit, and no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_PARTIAL = "P"


def _recognises(content: Content) -> bool:
    if content.is_zip:
        return bool({"header.json", "_journal/start.json"} & content.entries.keys())
    value = content.json
    return isinstance(value, dict) and "eval" in value and bool({"version", "status", "plan"} & value.keys())


def _read(content: Content) -> Rollouts:
    head, samples = _of_archive(content) if content.is_zip else _of_json(content)
    status = head.field("status").text()
    pairs = [(each.field("id").label(), each.field("epoch").integer()) for each in samples]
    scores = [_scores(each.maybe("scores")) for each in samples]
    ended = [_ended(each) for each in samples]
    absent = _absent(head, pairs, status)
    values = {
        name: [each.get(name) for each in scores] + [None] * len(absent)
        for name in dict.fromkeys(itertools.chain.from_iterable(scores))
    }
    numbers = {name: _numbers(name, column) for name, column in values.items()}
    ids, epochs = ({pair[part]: None for pair in pairs} for part in (0, 1))
    usual = next(iter(values)) if len(values) == 1 else ""
    return Rollouts(
        columns=Columns("id", "epoch", usual),
        tasks=[sample for sample, _ in (*pairs, *absent)],
        episodes=[epoch for _, epoch in (*pairs, *absent)],
        values=numbers,
        told=f"{len(ids)} samples x {len(epochs)} epochs",
        ended=ended + ["not in the log"] * len(absent),
        stopped="" if status == "success" else f"its status is {status!r:.40}, expected 'success'",
        supports={name: (0.0, 1.0) for name, column in values.items() if _PARTIAL in column},
    )


def _of_archive(content: Content) -> tuple[Place, list[Place]]:
    """The head, and the summary of each sample: whole samples may take gigabytes."""
    head = _checked(Place(content.json_of("header.json")))
    samples = Place(content.json_of("summaries.json"), "summaries").items()
    held = sum(name.startswith("samples/") for name in content.entries)
    if held != len(samples):
        raise ValueError(f"holds {held} samples and the summaries of {len(samples)}; expected as many")
    return head, samples


def _of_json(content: Content) -> tuple[Place, list[Place]]:
    head = _checked(Place(content.json))
    return head, head.field("samples").items()


def _checked(head: Place) -> Place:
    version = head.field("version")
    if version.integer() != _VERSION:
        raise ValueError(
            f"version is {version.value}, expected {_VERSION}, the version of the log format that is known"
        )
    invalidated = head.maybe("invalidated")
    if invalidated is not None and invalidated.truth():
        raise ValueError("invalidated is true: somebody declared samples of it invalid; expected a log without any")
    return head


def _ended(sample: Place) -> str:
    if sample.maybe("error") is not None:
        return "ended by an error"
    return "" if sample.maybe("limit") is None else "ended at a limit"


def _absent(head: Place, pairs: list[tuple[Any, int]], status: str) -> list[tuple[Any, int]]:
    """The samples and epochs that were to be run and are not in the log."""
    dataset, config = head.field("eval").field("dataset"), head.field("eval").field("config")
    listed, epochs = dataset.maybe("sample_ids"), config.maybe("epochs")
    if listed is None:
        if status != "success":
            raise ValueError(f"its status is {status!r:.40}, and it does not list its samples; expected 'success'")
        return []
    labels = {str(each.label()): each.label() for each in listed.items()}
    wanted = set(asked_for([*labels], 1 if epochs is None else epochs.integer(), first=1))
    found = {(str(sample), epoch) for sample, epoch in pairs}
    if unknown := found - wanted:
        raise ValueError(f"holds sample {min(unknown)[0]!r:.60}, epoch {min(unknown)[1]}, which eval does not list")
    return [(labels[name], epoch) for name, epoch in sorted(wanted - found)]


def _scores(scores: Place | None) -> dict[str, Any]:
    """The values of a sample by scorer, and by scorer and name where a scorer gives several; NaN is no score."""
    found: dict[str, Any] = {}
    for name, score in {} if scores is None else scores.fields().items():
        value = score.field("value")
        several = isinstance(value.value, dict)
        found |= {f"{name}/{part}": each for part, each in value.fields().items()} if several else {name: value}
    return {name: _scalar(value) for name, value in found.items()}


def _scalar(place: Place) -> Any:
    value = place.value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, bool | str) else place.number()


def _numbers(name: str, column: list[Any]) -> list[Any]:
    """Letters as successes, or as numbers where one of them is partial credit; other values as they are."""
    letters = [value in _LETTERS for value in column if value is not None]
    if not any(letters):
        return column
    if not all(letters):
        other = next(value for value in column if value is not None and value not in _LETTERS)
        raise ValueError(f"score {name!r:.42} has {other!r:.40} beside letters; expected {', '.join(_LETTERS)} alone")
    kind: Any = float if _PARTIAL in column else bool
    return [None if value is None else kind(_LETTERS[value]) for value in column]


INSPECT = Format("an Inspect log", _recognises, _read)
