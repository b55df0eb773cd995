"""The log of an experiment trial by trial: what was declared, each trial, each withdrawal; a line each.

A log, and not the archive of an adaptive run: a line is added to a file without a moment in which the lines before it
are not there, and keeps what an archive of the rollouts that count has no place for, such as what was withdrawn.
"""

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

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
    """What a log says: what was fixed beforehand, and all trials in their order, with those that were withdrawn."""

    declared: Declared
    trials: tuple[Trial, ...] = ()


def first_entry(declared: Declared) -> dict[str, Any]:
    """The entry with which a log begins."""
    return {"format": _FORMAT, "time": _now(), **to_json(declared)}


def trial_entry(log: Log, task: int, value: float) -> dict[str, Any]:
    """The entry of a trial."""
    name = "success" if log.declared.successes else "score"
    return {"time": _now(), "task": log.declared.tasks[task], name: value}


def withdrawal_entry(log: Log, why: str) -> dict[str, Any]:
    """The entry by which the last trial that counts is withdrawn; ValueError if there is none."""
    return {"time": _now(), "withdrawn": _last(log.trials).number, "why": why}


def with_entry(log: Log | None, entry: Mapping[str, Any]) -> Log:
    """The log with one entry more, its first one if there is none; ValueError for what cannot follow those before."""
    if not isinstance(entry.get("time"), str):
        raise ValueError("expected its time as a text")
    if log is None:
        return Log(_declared(entry))
    take = _withdrawal if "withdrawn" in entry else _trial
    return log._replace(trials=take(log, entry))


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


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
