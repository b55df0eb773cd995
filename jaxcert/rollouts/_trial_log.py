"""The log of an experiment trial by trial, a line each: declaration, trials, withdrawals; and what they come to.

A log, and not the archive of an adaptive run: a line is added to a file without a moment in which the lines before it
are not there, and keeps what an archive of the rollouts that count has no place for, such as what was withdrawn.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._first_entry import declared_in
from jaxcert.numerics._rounding import convert_host
from jaxcert.rollouts._declared import Declared
from jaxcert.rollouts._declared_pairs import DeclaredPairs
from jaxcert.rollouts._resumption import AdaptiveCertificate
from jaxcert.rollouts._single_trial import Trial
from jaxcert.sequential import SequentialState, certificate

# What a log may declare, by its format.
_KINDS: dict[str, type[Declared] | type[DeclaredPairs]] = {
    "jaxcert-trials-1": Declared,
    "jaxcert-pairs-1": DeclaredPairs,
}


class Log(NamedTuple):
    """The content of a log: the declaration and all trials in order, including withdrawn ones."""

    declared: Declared | DeclaredPairs
    trials: tuple[Trial, ...] = ()


def first_entry(declared: Declared | DeclaredPairs) -> dict[str, Any]:
    """The entry with which a log begins."""
    (name,) = (name for name, kind in _KINDS.items() if isinstance(declared, kind))
    return {"format": name, "time": _now(), **declared.to_json()}


def trial_entry(log: Log, task: int, value: float) -> dict[str, Any]:
    """The entry of a trial."""
    name = "success" if log.declared.successes else "score"
    return {"time": _now(), log.declared.role: log.declared.labels[task], name: value}


def withdrawal_entry(log: Log, why: str) -> dict[str, Any]:
    """The entry by which the last trial that counts is withdrawn; ValueError if there is none."""
    return {"time": _now(), "withdrawn": _last(log.trials).number, "why": why}


def with_entry(log: Log | None, entry: Mapping[str, Any] | None) -> Log:
    """The log with one entry more, its first one if there is none; ValueError for what cannot follow those before."""
    if log is None or entry is None:
        return Log(declared_in(entry, _KINDS))
    if not isinstance(entry.get("time"), str):
        raise ValueError("expected its time as a text")
    take = _withdrawal if "withdrawn" in entry else _trial
    return log._replace(trials=take(log, entry))


def _trial(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials with one more."""
    declared = log.declared
    label, labels = entry.get(declared.role), declared.labels
    if label not in labels:
        raise ValueError(f"its {declared.role} is {label!r:.40}, which was not declared")
    value: Any = entry.get("success" if declared.successes else "score")
    declared.outcomes.check(value)
    declared.check_turn(that_count(log.trials), labels.index(label))
    return (*log.trials, Trial(entry["number"], labels.index(label), float(value), entry["time"], None))


def _withdrawal(log: Log, entry: Mapping[str, Any]) -> tuple[Trial, ...]:
    """The trials, of which the last one that counts does so no longer."""
    last, why = _last(log.trials), entry.get("why")
    if entry["withdrawn"] != last.number or not isinstance(why, str) or not why:
        raise ValueError(f"expected it to withdraw the trial of line {last.number + 1}, and to say why")
    return tuple(each._replace(withdrawn=why) if each is last else each for each in log.trials)


def that_count(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """The trials that were not withdrawn."""
    return tuple(trial for trial in trials if trial.withdrawn is None)


def _last(trials: tuple[Trial, ...]) -> Trial:
    """The last one that counts."""
    for trial in reversed(trials):
        if trial.withdrawn is None:
            return trial
    raise ValueError("no trial is left to withdraw")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


# --- what trials come to ---------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """The trials that count, taken in one by one."""

    state: SequentialState  # after them
    passed_after: np.ndarray  # how many had been taken in when a task passed; 0 if it did not, int32[n, t]
    trials: tuple[Trial, ...]


def counted(declared: Declared | DeclaredPairs, trials: Iterable[Trial]) -> Counted:
    """The result of these trials.

    It is computed in the precision that JAX has now: in each, a wealth is at most its exact value (theory page,
    section 8), so that a log may be read in another one than it was written in.
    """
    state = declared.state()
    found = Counted(state, np.zeros(state.passed.shape, np.int32), ())
    for trial in trials:
        found = with_trial(declared, found, trial)
    return found


def with_trial(declared: Declared | DeclaredPairs, before: Counted, trial: Trial) -> Counted:
    """With one more trial."""
    state = declared.advanced(before.state, before.trials, trial)
    trials = (*before.trials, trial)
    is_new = np.asarray(state.passed) & ~np.asarray(before.state.passed)
    return Counted(state, np.where(is_new, np.int32(len(trials)), before.passed_after), trials)


def run_of(declared: Declared, found: Counted, *, num_started: int) -> AdaptiveCertificate:
    """The certificate of these trials, with them, as an adaptive run has it."""
    state, trials = found.state, found.trials
    return AdaptiveCertificate(
        certificate=certificate(state, declared.delta),
        state=state,
        tasks={"label": np.array(declared.tasks)},
        num_started=jnp.asarray(num_started, jnp.int32),
        num_unfinished=jnp.asarray(0, jnp.int32),
        passed_after=jnp.asarray(found.passed_after),
        rollout_task=jnp.asarray([trial.task for trial in trials], jnp.int32),
        rollout_return=jnp.asarray(_rounded([trial.value for trial in trials], state)),
        deterministic=None,
    )


def _rounded(values: Sequence[float], state: SequentialState) -> np.ndarray:
    """Values in the precision of the state, rounded down."""
    return convert_host(np.array(values, np.float64), np.dtype(state.wealth.dtype), "down")
