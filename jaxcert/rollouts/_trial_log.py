"""The log of an experiment trial by trial: what was declared, each trial, each withdrawal; a line each.

A log, and not the archive of an adaptive run: a line is added to a file without a moment in which the lines before it
are not there, and keeps what an archive of the rollouts that count has no place for, such as what was withdrawn.
"""

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxcert._chained import line_of, lines_of, linked
from jaxcert._files import parsed
from jaxcert.rollouts._declared import Declared, from_json, to_json

_FORMAT = "jaxcert-trials-1"


class Trial(NamedTuple):
    """One trial.

    Attributes:
        number: of its line in the log, from 1.
        task: its place among the labels.
        value: whether it succeeded, or its score.
        time: when it was recorded, in UTC.
        withdrawn: why it does not count any more; None if it counts.
    """

    number: int
    task: int
    value: float
    time: str
    withdrawn: str | None


class Log(NamedTuple):
    """What a log says.

    Attributes:
        declared: what was fixed beforehand.
        trials: all of them, in their order, with those that were withdrawn.
        chains: the hash of each line.
        torn: what a write that was cut short left after the last line.
    """

    declared: Declared
    trials: tuple[Trial, ...]
    chains: tuple[str, ...]
    torn: bytes


def first_line(declared: Declared) -> str:
    """The line with which a log begins."""
    return line_of({"number": 0, "format": _FORMAT, "time": _now(), **to_json(declared)}, [])[0]


def trial_line(log: Log, task: int, value: float) -> str:
    """The next line, of a trial."""
    name = "success" if log.declared.successes else "score"
    return _next_line(log, {"task": log.declared.tasks[task], name: value})


def withdrawal_line(log: Log, why: str) -> str:
    """The next line, by which the last trial that counts is withdrawn; ValueError if there is none."""
    return _next_line(log, {"withdrawn": _last(log.trials).number, "why": why})


def read_log(content: bytes) -> Log:
    """What the lines say; ValueError, with the number of the line, for anything but the lines of one experiment."""
    lines, torn = lines_of(content)
    log, place = None, 0
    try:
        for place, line in enumerate(lines):
            log = _with(log, line, place)
    except ValueError as error:
        raise ValueError(f"line {place + 1} is no entry of a log of trials: {error}") from error
    if log is None:
        raise ValueError("holds no complete line; expected what was declared as the first one")
    return log._replace(torn=torn)


def with_line(log: Log, line: str) -> Log:
    """The log with one line more."""
    return _with(log, line.encode(), len(log.chains))


def _with(log: Log | None, line: bytes, place: int) -> Log:
    entry = parsed(line)
    if not isinstance(entry, dict) or entry.get("number") != place:
        raise ValueError(f"expected an object of JSON with the number {place}, as lines are neither lost nor repeated")
    before = () if log is None else log.chains
    chain = linked(entry, [*before[-1:]], is_chained=True)
    if not isinstance(entry.get("time"), str):
        raise ValueError("expected its time as a text")
    if log is None:
        return Log(_declared(entry), (), (chain,), b"")
    take = _withdrawal if "withdrawn" in entry else _trial
    return log._replace(trials=take(log, entry), chains=(*before, chain))


def _declared(entry: Mapping[str, Any]) -> Declared:
    if entry.get("format") != _FORMAT:
        raise ValueError(f"its format is {entry.get('format')!r:.40}; expected {_FORMAT!r}")
    return from_json(entry)


def _trial(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials with one more."""
    label, tasks = entry.get("task"), log.declared.tasks
    if label not in tasks:
        raise ValueError(f"its task is {label!r:.40}, which was not declared")
    value: Any = entry.get("success" if log.declared.successes else "score")
    log.declared.check_value(value)
    return (*log.trials, Trial(entry["number"], tasks.index(label), float(value), entry["time"], None))


def _withdrawal(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials, of which the last one that counts does so no longer."""
    last, why = _last(log.trials), entry.get("why")
    if entry["withdrawn"] != last.number or not isinstance(why, str) or not why:
        raise ValueError(f"expected it to withdraw the trial of line {last.number + 1}, and to say why")
    return tuple(each._replace(withdrawn=why) if each is last else each for each in log.trials)


def _last(trials: tuple[Trial, ...]) -> Trial:
    """The last one that counts."""
    for trial in reversed(trials):
        if trial.withdrawn is None:
            return trial
    raise ValueError("no trial is left to withdraw")


def _next_line(log: Log, entry: Mapping[str, Any]) -> str:
    return line_of({"number": len(log.chains), "time": _now(), **entry}, [*log.chains[-1:]])[0]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
