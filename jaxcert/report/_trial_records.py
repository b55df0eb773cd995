"""The record of trials, with what proves it in exact arithmetic."""

import warnings
from typing import Any

import numpy as np

from jaxcert._validation import precision
from jaxcert.report import check_trials
from jaxcert.report._exact_check import read_log, where_proven
from jaxcert.report._records import certificate_record, sizes_of
from jaxcert.rollouts import AdaptiveCertificate, Trials
from jaxcert.rollouts._declared import fields_in

_COUNTED = "counted as the worst return, at their places: this holds for whatever reason they were withdrawn"


def trial_records(trials: Trials) -> list[dict[str, Any]]:
    """As `certificate_record`, of the trials in a log, with what proves it: withdrawn ones count as the worst return.

    The one record is in double precision, as trials were declared. Each row that claims something has an entry
    `witness` (`check_exactly`), which is None where exact arithmetic does not confirm the row.

    Args:
        trials: the log.

    Warns:
        UserWarning: exact arithmetic does not confirm a row.

    Example:
        >>> import tempfile
        >>> from jaxcert.rollouts import Trials
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trials = Trials.start(f"{folder}/run.jsonl", list("abc"), 0.5, successes=True, delta=0.2)
        ...     for task in "aaaaaabbbbbb":
        ...         trials.add(task, True)
        ...     (record,) = trial_records(trials)
        >>> record["rows"][0]["witness"]["rollouts"]
        [6, 6, None]
    """
    with precision("float64"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said when the log was read before
            exact = Trials(trials.path)
        run, found = exact.run(count_withdrawn=True), read_log(exact.path, exact.sha256)
        support, sizes = (float(run.state.low), float(run.state.high)), sizes_of(np.asarray([*map(len, found[0])]))
        data = {"file": exact.path.name, "sha256": found[1], "num_rollouts": sizes, "dtype": "float64", "columns": None}
        record = {**certificate_record(run.certificate, support=support), "data": data, "rollouts": _facts(exact)}
        witnesses = [_stops_of(run, i) for i in range(len(record["rows"]))]
        check = lambda document: check_trials.check(document, lambda _: found)  # noqa: E731
        return [where_proven(record, witnesses, check)]


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


def _facts(trials: Trials) -> dict[str, Any]:
    """What the log says of these trials."""
    declared = trials.declared
    withdrawn = [
        {"number": each.number, "task": declared.tasks[each.task], "value": each.value, "why": each.withdrawn}
        for each in trials.withdrawn
    ]
    facts: dict[str, Any] = {"source": "trials", "log": trials.path.name, "last_hash": trials.last_hash}
    facts["num_trials"] = len(trials.trials) - len(trials.withdrawn)
    facts |= {"declared": fields_in(declared), "withdrawn": withdrawn}
    return facts | ({"withdrawn_are": _COUNTED} if withdrawn else {})
