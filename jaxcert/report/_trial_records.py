"""Records of an experiment trial by trial, for a certificate file."""

import warnings
from pathlib import Path
from typing import Any

from jaxcert.report._recompute import precision
from jaxcert.report._run_record import run_record
from jaxcert.rollouts import Trials

_LEFT_OUT = "left out: this holds only if none of them was withdrawn because of how it went"
_COUNTED = "counted as the worst return, at their places: this holds for whatever reason they were withdrawn"


def trial_records(trials: Trials) -> list[dict[str, Any]]:
    """Of the certificate, for a certificate file; where trials were withdrawn, a second one, which counts them."""
    found = [_record(trials, _LEFT_OUT, count_withdrawn=False)]
    return found + ([_record(trials, _COUNTED, count_withdrawn=True)] if trials.withdrawn else [])


def witnessed_trials(path: Path) -> list[dict[str, Any]]:
    """With what proves it: the one that counts all trials of the log, in double precision, as they are declared."""
    with precision("float64"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said when the log was read before
            trials = Trials(path)
        return [_record(trials, _COUNTED, count_withdrawn=True, log=path, sha256=trials.sha256)]


def _record(trials: Trials, words: str, *, count_withdrawn: bool, **proof: Any) -> dict[str, Any]:
    run, declared = trials.run(count_withdrawn=count_withdrawn), trials.declared
    withdrawn = [
        {"number": each.number, "task": declared.tasks[each.task], "value": each.value, "why": each.withdrawn}
        for each in trials.withdrawn
    ]
    facts: dict[str, Any] = {"source": "trials", "log": trials.path.name, "last_hash": trials.last_hash}
    facts["num_trials"] = len(trials.trials) - len(trials.withdrawn)
    facts |= {"declared": declared.to_json(), "withdrawn": withdrawn}
    facts |= {"withdrawn_are": words} if withdrawn else {}
    return run_record(run, rollouts=facts, **proof)
