"""The records of adaptive runs and of trials, with what proves them in exact arithmetic."""

import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert.report import check_trials
from jaxcert.report._exact_check import read_log, where_proven
from jaxcert.report._recompute import precision
from jaxcert.report._writers import certificate_record, sizes_of
from jaxcert.rollouts import AdaptiveCertificate, Trials
from jaxcert.rollouts._declared import fields_in

_LEFT_OUT = "left out: this holds only if none of them was withdrawn because of how it went"
_COUNTED = "counted as the worst return, at their places: this holds for whatever reason they were withdrawn"


def run_record(
    run: AdaptiveCertificate,
    *,
    rollouts: Mapping[str, Any],
    log: str | PathLike[str] | None = None,
    sha256: str | None = None,
) -> dict[str, Any]:
    """As `certificate_record`, for a run of ``certify_adaptive`` or ``Trials``.

    Args:
        run: the run; its support is the one that it was computed with.
        rollouts: where its rollouts come from, and how many there were, as values for JSON.
        log: the log of ``Trials`` with its rollouts. With it each row that claims something has an entry `witness` with
            what proves it in exact arithmetic (`check_exactly`), which is None where exact arithmetic does not confirm
            the row.
        sha256: of a log that has grown since, the SHA-256 up to the trials of the run (``Trials.sha256``).

    Raises:
        FileNotFoundError: there is no such log.
        ValueError: with ``log``, for another file.

    Warns:
        UserWarning: with ``log``, if exact arithmetic does not confirm a row; for example, if withdrawn trials do not
            count, or a log was read in single precision.

    Example:
        >>> import tempfile
        >>> import jax
        >>> from jaxcert.rollouts import Trials
        >>> with tempfile.TemporaryDirectory() as folder, jax.enable_x64(True):
        ...     trials = Trials.start(f"{folder}/run.jsonl", list("abc"), 0.5, successes=True, delta=0.2)
        ...     for task in "aaaaaabbbbbb":
        ...         trials.add(task, True)
        ...     record = run_record(trials.run(), rollouts={"source": "trials"}, log=trials.path)
        >>> record["rows"][0]["witness"]["rollouts"]
        [6, 6, None]
    """
    low, high = float(run.state.low), float(run.state.high)
    record = {**certificate_record(run.certificate, support=(low, high)), "rollouts": dict(rollouts)}
    if log is None:
        return record
    dtype = record["settings"]["dtype"]
    found = read_log(log, sha256)
    sizes = sizes_of(np.asarray([*map(len, found[0])]))
    data = {"file": Path(log).name, "sha256": found[1], "num_rollouts": sizes, "dtype": dtype, "columns": None}
    witnesses = [_stops_of(run, i) for i in range(len(record["rows"]))]
    record = {**record, "data": data}
    return where_proven(record, witnesses, lambda document: check_trials.check(document, lambda _: found))


def _stops_of(run: AdaptiveCertificate, index: int) -> dict[str, Any] | None:
    """After how many rollouts each task passes a threshold, None where it does not; None where nothing is claimed.

    With fixed bets the wealth falls in B, so that a task that passes a larger threshold has passed this one then. For
    successes, `goal` is the wealth at which tasks pass.
    """
    thresholds, lower = np.asarray(run.certificate.thresholds), np.asarray(run.certificate.lower_bounds)
    if not run.certificate.safety[index] > 0 or not thresholds[index] > run.state.low:
        return None
    is_binary = bool(run.state.is_binary)
    at = np.full(lower.shape, index) if is_binary else np.argmax(thresholds == lower[:, None], axis=1)
    used = np.take_along_axis(np.asarray(run.certificate.num_rollouts_used), at[:, None], axis=1)[:, 0]
    passed = (lower >= thresholds[index]).tolist()
    stops = [count if ok else None for count, ok in zip(used.tolist(), passed, strict=True)]
    return {"rollouts": stops, **({"goal": float(run.state.goal[index])} if is_binary else {})}


def trial_records(trials: Trials, *, witness: bool = False) -> list[dict[str, Any]]:
    """The record for a certificate file, and if trials were withdrawn a second one, which counts them.

    With ``witness`` the one that counts all trials of the log, with witnesses, in double precision, as declared.
    """
    if not witness:
        found = [_record(trials, _LEFT_OUT, count_withdrawn=False)]
        return found + ([_record(trials, _COUNTED, count_withdrawn=True)] if trials.withdrawn else [])
    with precision("float64"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said when the log was read before
            exact = Trials(trials.path)
        return [_record(exact, _COUNTED, count_withdrawn=True, log=exact.path, sha256=exact.sha256)]


def _record(trials: Trials, words: str, *, count_withdrawn: bool, **proof: Any) -> dict[str, Any]:
    run, declared = trials.run(count_withdrawn=count_withdrawn), trials.declared
    withdrawn = [
        {"number": each.number, "task": declared.tasks[each.task], "value": each.value, "why": each.withdrawn}
        for each in trials.withdrawn
    ]
    facts: dict[str, Any] = {"source": "trials", "log": trials.path.name, "last_hash": trials.last_hash}
    facts["num_trials"] = len(trials.trials) - len(trials.withdrawn)
    facts |= {"declared": fields_in(declared), "withdrawn": withdrawn}
    facts |= {"withdrawn_are": words} if withdrawn else {}
    return run_record(run, rollouts=facts, **proof)
