"""Logs of Inspect: `.eval`, a zip archive of JSON, and `.json`. A task is a sample, a rollout one of its epochs."""

from collections.abc import Sequence
from typing import Any

from jaxcert.tables._entries import is_empty
from jaxcert.tables._json_records import LABEL, Place
from jaxcert.tables._roles import Columns
from jaxcert.tables.formats._found_rollouts import Content, Format, Rollouts, Row, fields_beside, names_of, not_run

_VERSION = 2
# Published: correct, incorrect, partial credit, and no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_PARTIAL = "P"


def _is_inspect(content: Content) -> bool:
    if content.entries:
        return bool({"header.json", "_journal/start.json"} & content.entries.keys())
    return content.holds("eval") and any(map(content.holds, ("version", "status", "plan")))


def _inspect(content: Content) -> Rollouts:
    head = Place(content.json_of("header.json") if content.entries else content.json)
    if (version := head.field("version").of(int)) != _VERSION:
        raise ValueError(f"version is {version}, expected {_VERSION}, the version of the log format that is known")
    invalidated = head.maybe("invalidated")
    if invalidated is not None and invalidated.of(bool):
        raise ValueError("invalidated is true: somebody declared samples of it invalid; expected a log without any")
    samples = _summaries(content) if content.entries else head.field("samples").items()
    rows = [_sample(each) for each in samples]
    status = head.field("status").of(str)
    absent = [Row(*pair, {}, "not in the log") for pair in _not_in_log(head, [row[:2] for row in rows], status)]
    rows += absent
    columns = {name: [row.values.get(name) for row in rows] for name in names_of(rows)}
    numbers = {name: _numbers(name, column) for name, column in columns.items()}
    rows = [row._replace(values={name: numbers[name][i] for name in numbers}) for i, row in enumerate(rows)]
    records, of_rows = [each.value for each in samples], [*range(len(samples)), *[0] * len(absent)]
    return Rollouts(
        Columns("id", "epoch", next(iter(columns)) if len(columns) == 1 else ""),
        rows,
        stopped="" if status == "success" else f"its status is {status!r:.40}, expected 'success'",
        supports={name: (0.0, 1.0) for name, column in columns.items() if _PARTIAL in column},
        others=fields_beside(records, _OWN.split(), of_rows),
    )


def _summaries(content: Content) -> list[Place]:
    """The summary of each sample of an archive: whole samples may take gigabytes."""
    samples = Place(content.json_of("summaries.json"), "summaries").items()
    held = sum(name.startswith("samples/") for name in content.entries)
    if held != len(samples):
        raise ValueError(f"holds {held} samples and the summaries of {len(samples)}; expected as many")
    return samples


def _sample(sample: Place) -> Row:
    """A sample in one epoch, with its values by scorer, or by scorer and name where a scorer gives several."""
    why = {"error": "ended by an error", "limit": "ended at a limit"}
    ended = next((words for name, words in why.items() if sample.maybe(name) is not None), "")
    scores, found = sample.maybe("scores"), {}
    for name, score in {} if scores is None else scores.fields().items():
        value = score.field("value")
        several = isinstance(value.value, dict)
        found |= {f"{name}/{part}": each for part, each in value.fields().items()} if several else {name: value}
    values = {name: _scalar(value) for name, value in found.items()}
    return Row(sample.field("id").of(LABEL), sample.field("epoch").of(int), values, ended)


def _scalar(place: Place) -> Any:
    if is_empty(place.value):
        return None  # NaN is no score
    return place.value if isinstance(place.value, bool | str) else place.of(float)


def _not_in_log(head: Place, found: Sequence[tuple[Any, int]], status: str) -> list[tuple[Any, int]]:
    """The samples and epochs that were to be run and are not in the log."""
    dataset, config = head.field("eval").field("dataset"), head.field("eval").field("config")
    listed, epochs = dataset.maybe("sample_ids"), config.maybe("epochs")
    if listed is None:
        if status != "success":
            raise ValueError(f"its status is {status!r:.40}, and it does not list its samples; expected 'success'")
        _check_total(head, dataset, config, len(found))
        return []
    labels = {str(each.of(LABEL)): each.of(LABEL) for each in listed.items()}
    held = [(str(sample), epoch) for sample, epoch in found]
    absent = not_run([*labels], 1, 1 if epochs is None else epochs.of(int), held, "eval does")
    return [(labels[name], epoch) for name, epoch in sorted(absent)]


def _check_total(head: Place, dataset: Place, config: Place, count: int) -> None:
    """Raise ValueError for fewer or more samples than the log says it has, where it does not list them."""
    of_results, whole = head.first("results.total_samples"), config.maybe("limit") is None
    whole &= config.maybe("sample_id") is None  # else some samples of the set were to be run
    samples, epochs = dataset.maybe("samples"), config.maybe("epochs")
    of_set = samples.of(int) * (1 if epochs is None else epochs.of(int)) if samples and whole else None
    if wrong := [stated for stated in (of_results, of_set) if stated not in (None, count)]:
        raise ValueError(
            f"was to have {wrong[0]!r:.40} samples, and {count} are in the log, which does not list their ids; "
            "expected all of them"
        )


def _numbers(name: str, column: list[Any]) -> list[Any]:
    """Letters as successes, or as numbers where one of them is partial credit; other values as they are."""
    given = [value for value in column if value is not None]
    others = [value for value in given if value not in _LETTERS]
    if len(others) == len(given):
        return column
    if others:
        raise ValueError(
            f"score {name!r:.42} has {others[0]!r:.40} beside letters; expected {', '.join(_LETTERS)} alone"
        )
    kind: Any = float if _PARTIAL in column else bool
    return [None if value is None else kind(_LETTERS[value]) for value in column]


# Fields of a sample that Inspect writes for whatever policy.
_OWN = """
id epoch scores input choices target messages output error limit uuid started_at completed_at total_time working_time
store events attachments timelines error_retries retries sandbox files setup model_usage role_usage completed
message_count
"""

INSPECT = Format("an Inspect log", _is_inspect, _inspect)
