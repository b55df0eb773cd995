"""The log of an experiment, one line each for the declaration, trials and withdrawals; and its result.

Earlier lines are never missing while a line is added, and trials that no longer count, such as withdrawn ones, stay.
"""

import datetime
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._rounding import convert_host
from jaxcert.rollouts._adaptive import AdaptiveCertificate
from jaxcert.rollouts._chained import declared_in, fields_of
from jaxcert.rollouts._declared import Declared, Trial, check_outcome, fields_in
from jaxcert.rollouts._declared_pairs import DeclaredPairs
from jaxcert.sequential import SequentialState, certificate

# The kinds of declarations by the format of the log.
_KINDS = {kind.format: kind for kind in (Declared, DeclaredPairs)}


class Log(NamedTuple):
    """The content of a log: the declaration, all trials in order, and the result of those that count."""

    declared: Declared | DeclaredPairs
    trials: tuple[Trial, ...]  # with those that were withdrawn
    state: SequentialState  # after those that were not

    @property
    def counted(self) -> tuple[Trial, ...]:
        """The trials that were not withdrawn."""
        return tuple(trial for trial in self.trials if trial.withdrawn is None)

    @property
    def last(self) -> Trial:
        """The last trial that counts; ValueError if there is none."""
        if not self.counted:
            raise ValueError("no trial is left to withdraw")
        return self.counted[-1]


def first_entry(declared: Declared | DeclaredPairs) -> dict[str, Any]:
    """The entry with which a log begins."""
    return {"format": declared.format, "time": _now(), **fields_in(declared)}


def _declared(kind: type[Any], entry: Mapping[str, Any]) -> Declared | DeclaredPairs:
    """The declaration in an entry; ValueError for an invalid one."""
    found = kind(**fields_of(entry, kind, kind._fields))
    found.state()
    return found


def trial_entry(log: Log, task: int, value: float | None) -> dict[str, Any]:
    """The entry of a trial; without a value, of a policy that is dropped."""
    outcome = {_outcome(log.declared): value} if value is not None else {"dropped": True}
    return {"time": _now(), log.declared.role: log.declared.labels[task], **outcome}


def _outcome(declared: Declared | DeclaredPairs) -> str:
    return "success" if declared.successes else "score"


def withdrawal_entry(log: Log, why: str) -> dict[str, Any]:
    """The entry by which the last trial that counts is withdrawn; ValueError if there is none."""
    return {"time": _now(), "withdrawn": log.last.number, "why": why}


def after(before: Log | None, entries: Iterator[Mapping[str, Any]]) -> Log:
    """The content after more entries, the very first being the declaration; ValueError for a misplaced entry."""
    if before is None:
        kinds = {name: functools.partial(_declared, kind) for name, kind in _KINDS.items()}
        before = begun(declared_in(next(entries, None), kinds))
    log = before
    for entry in entries:
        log = log._replace(trials=_with_entry(log, entry))
    return with_trials(before, log.trials)


def _with_entry(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials after one entry more."""
    declared, trials = log.declared, log.trials
    if not isinstance(entry.get("time"), str):
        raise ValueError("expected its time as a text")
    if "withdrawn" in entry:
        if _outcome(declared) in entry:
            raise ValueError("expected a trial or a withdrawal, and not both in one line")
        return _without_last(log, entry)
    label, labels = entry.get(declared.role), declared.labels
    if label not in labels:
        raise ValueError(f"its {declared.role} is {label!r:.40}, which was not declared")
    place, before = labels.index(label), log.counted
    if isinstance(declared, DeclaredPairs) and entry.get("dropped") is True:
        return (*trials, Trial(entry["number"], place, None, entry["time"], declared.drop(before, place)))
    value: Any = entry.get(_outcome(declared))
    check_outcome(value, declared)
    return (*trials, Trial(entry["number"], place, float(value), entry["time"], declared.turn(before, place)))


def _without_last(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials without the last one that counted."""
    last, why = log.last, entry.get("why")
    if entry["withdrawn"] != last.number or not isinstance(why, str) or not why or not why.isprintable():
        raise ValueError(f"expected it to withdraw the trial of line {last.number + 1}, and to say why")
    return tuple(each._replace(withdrawn=why) if each is last else each for each in log.trials)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


# --- what trials come to ---------------------------------------------------------------------------------------------


def begun(declared: Declared | DeclaredPairs) -> Log:
    """Before the first trial.

    The state is computed in the precision that JAX has now: in each, a wealth is at most its exact value (theory page,
    section 8), so that a log may be read in another one than it was written in.
    """
    return Log(declared, (), declared.state())


def with_trials(log: Log, trials: tuple[Trial, ...]) -> Log:
    """Add these trials; start anew if a trial that had counted was withdrawn."""
    found = log._replace(trials=trials)
    if found.counted[: len(log.counted)] != log.counted:
        log = begun(log.declared)
    return found._replace(state=log.declared.advanced(log.state, log.counted, found.counted))


def run_of(log: Log) -> AdaptiveCertificate:
    """The trials of tasks that count, with their certificate, as an adaptive run."""
    state, dtype = log.state, np.dtype(log.state.wealth.dtype)
    returns = convert_host(np.array([trial.value for trial in log.counted], np.float64), dtype, "down")
    return AdaptiveCertificate(
        certificate=certificate(state, log.declared.delta),
        state=state,
        tasks={"label": np.array(log.declared.labels)},
        num_started=jnp.asarray(len(log.trials), jnp.int32),
        rollout_task=jnp.asarray([trial.task for trial in log.counted], jnp.int32),
        rollout_return=jnp.asarray(returns),
    )
