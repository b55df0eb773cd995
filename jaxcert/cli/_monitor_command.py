"""`jaxcert monitor`: whether a certificate still holds, episode by episode from standard input."""

import contextlib
import csv
import hashlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert._files import content_of, in_file
from jaxcert.cli import _console
from jaxcert.cli._options import argument, flag, option
from jaxcert.cli._outputs import Force, check_outputs, write_plot
from jaxcert.cli._role_options import TaskRole, ValueRole, columns_in, reading_of
from jaxcert.monitoring import Monitor, MonitoredClaim, Row, claim_of_record
from jaxcert.monitoring._claims import has_successes
from jaxcert.monitoring._monitor_declared import Declared, check_same
from jaxcert.monitoring._stream import tasks_from
from jaxcert.report import document_digest, plot_evidence, read_certificate

_HEADER = ("number", "task", "mean_return", "against", "evidence", "change")


def command(
    state: Annotated[Path, option("FILE", "Keep the monitor there; made if there is none.")],
    certificate: Annotated[
        Path | None, argument("[CERTIFICATE]", "File of `jaxcert certify --json`, to begin.", show_default=False)
    ] = None,
    threshold: Annotated[
        float | None, option("B", "Which threshold of the certificate; or a claim of your own.")
    ] = None,
    epsilon: Annotated[float | None, option("E", "Without CERTIFICATE: the risk that is claimed.")] = None,
    alpha: Annotated[float | None, option("A", "Probability of ever raising a false alarm; by default 0.05.")] = None,
    rollouts: Annotated[int | None, option("M", "Episodes of each task, in a row; by default 1.")] = None,
    support: Annotated[
        tuple[float, float] | None, option("A B", "Smallest and largest possible return; by default the certificate's.")
    ] = None,
    successes: Annotated[bool, flag("An episode succeeds (1) or fails (0).", "--successes")] = False,
    beta: Annotated[float | None, option("P", "Level of the upper bound of a task; by default by the risk.")] = None,
    complete: Annotated[bool, flag("Declare that each return is one of a whole episode.", "--complete")] = False,
    change: Annotated[
        bool, flag("Exit with 1 for a change at an unknown time, in place of the alarm.", "--change")
    ] = False,
    rows: Annotated[
        bool, flag("Print a row for each task once it is on the disk; the sentence on stderr.", "--rows")
    ] = False,
    plot: Annotated[Path | None, option("FILE", "Draw the evidence there.")] = None,
    task: TaskRole = None,
    value: ValueRole = None,
    force: Force = False,
) -> None:
    """Add episodes from standard input to a monitor, and say whether the certificate still holds.

    The input is CSV with a header, or lines of JSON, tasks in the order in which they arrived. The exit status is 0
    without an alarm, also if no episode was read, 1 with one, 2 for an error. Tasks that are sent again count once.
    Options of a monitor that has begun are fixed: they may be given again, and others are refused.
    """
    check_outputs([("CERTIFICATE", certificate), ("--state", state)], ("--plot", plot), force=force)
    with _console.warnings_on_stderr():
        given = {"threshold": threshold, "epsilon": epsilon, "alpha": alpha, "num_rollouts": rollouts}
        given |= {"support": support, "successes": successes or None, "beta": beta}
        watching = _opened(state, certificate, given, complete=complete)
        certified = {} if certificate is None else read_certificate(certificate)["certificates"][0].get("data") or {}
    said = sys.stderr if rows else sys.stdout
    columns = {**columns_in(reading_of({"task": task, "value": value})), "trial": None}
    try:
        _feed(watching, columns, certified, rows=rows)
    except ValueError:
        # What ends in the middle of a task must not hide an alarm.
        if _has_reached(watching, change=change):
            print(watching, file=said)
        raise
    finally:
        if plot is not None:
            write_plot(plot, plot_evidence(watching.rows, alpha=watching.declared.alpha), replace=force)
    print(watching, file=said)
    if _has_reached(watching, change=change):
        raise typer.Exit(1)


def _feed(watching: Monitor, columns: dict[str, Any], certified: Mapping[str, Any], *, rows: bool) -> None:
    """Add what standard input brings; a terminal brings nothing, and is not waited for."""
    lines, is_empty = csv.writer(sys.stdout, lineterminator="\n"), True
    if rows:
        lines.writerow(_HEADER)
        sys.stdout.flush()
    if sys.stdin.isatty():
        return
    declared = watching.declared
    settings: Any = {"support": declared.support, "certified": certified, "tell": lambda text: _say(f"warning: {text}")}
    for tasks in tasks_from(sys.stdin.buffer, declared.num_rollouts, columns, **settings):
        before, is_empty = watching.evidence, False
        new = watching.add(tasks)
        _tell(watching, before)
        if rows:  # on the disk before they are printed, so that a sender may forget them
            lines.writerows(map(_cells, new))
            sys.stdout.flush()
    if is_empty:
        # No error: an hour without a task says nothing against the claim.
        _say("warning: no episode was read from standard input")


def _has_reached(watching: Monitor, *, change: bool) -> bool:
    return bool(watching.evidence.changed if change else watching.evidence.alarm)


def _say(text: str) -> None:
    """Say it on stderr, at once."""
    print(text, file=sys.stderr, flush=True)


def _opened(state: Path, certificate: Path | None, given: dict[str, Any], *, complete: bool) -> Monitor:
    """The monitor of a file, which is made if there is none; what was given is what it began with, or refused."""
    if not state.exists():
        # Another process may begin it at the same moment: then this one shares it.
        with contextlib.suppress(FileExistsError):
            return _begun(state, certificate, given, complete=complete)
    watching = Monitor(state)
    with in_file(state):
        if certificate is not None and watching.declared.certificate_sha256 is not None:
            check_same(watching.declared, {"certificate_sha256": _sha256(certificate)})
        if certificate is not None:
            watching.declared = _as_certified(watching.declared, certificate, given)
        check_same(watching.declared, given)
    return watching


def _as_certified(declared: Declared, certificate: Path, given: dict[str, Any]) -> Declared:
    """What was declared, with the claim of a certificate, which has to be the one that is watched.

    Who alters the file of a monitor can compute its hashes again, so that the claim is not taken from there. A monitor
    that began without a certificate's file, as in Python, takes one of the very claim that it watches.

    Raises:
        ValueError: for another claim, or returns that are neither those of the certificate nor of the options.
    """
    claim, known, has_words = _claim(certificate, given["threshold"], given["epsilon"], watched=declared.claim)
    if claim[:3] != declared.claim[:3]:
        began = "began without a certificate's file, with" if declared.certificate_sha256 is None else "watches"
        raise ValueError(
            f"{began} the claim that {_in_full(declared.claim)}; {certificate} claims that {_in_full(claim)}; expected "
            "a certificate of that claim, none, or a new --state"
        )
    successes, support = given["successes"] or has_words, given["support"] or known
    for name, found, expected in (
        ("successes", declared.successes, successes),
        ("support", declared.support, (0.0, 1.0) if successes else support),
    ):
        if expected is not None and found != expected:
            raise ValueError(
                f"{name} is {found}; by {certificate} and the options it is {expected}: expected --{name} again if it "
                "began with it, or a new --state"
            )
    return declared._replace(claim=claim)


def _in_full(claim: MonitoredClaim) -> str:
    return f"{claim} (delta {claim.delta:g})"


def _begun(state: Path, certificate: Path | None, given: dict[str, Any], *, complete: bool) -> Monitor:
    threshold, epsilon = given["threshold"], given["epsilon"]
    names = ("num_rollouts", "alpha", "beta", "successes", "support")
    settings = {name: given[name] for name in names if given[name] is not None}
    if certificate is not None:
        settings["certificate_sha256"] = _sha256(certificate)
        claim, known, has_words = _claim(certificate, threshold, epsilon)
        settings["successes"] = settings.get("successes", has_words)
        if known is not None and not settings["successes"]:
            settings.setdefault("support", known)
    elif threshold is None or epsilon is None:
        raise ValueError("expected CERTIFICATE, or --threshold and --epsilon, to begin a monitor")
    else:
        claim = MonitoredClaim(threshold, epsilon)
    return Monitor.start(state, claim, complete=complete, **settings)


def _claim(
    certificate: Path, threshold: float | None, epsilon: float | None, watched: MonitoredClaim | None = None
) -> tuple[MonitoredClaim, tuple[float, float] | None, bool]:
    """What is monitored, the support that is known, and whether returns are successes.

    ``watched``: whose threshold is meant where a certificate has several and none is given.
    """
    if epsilon is not None:
        raise ValueError(f"--epsilon is {epsilon:g}; the certificate has its own, expected none")
    with in_file(certificate):
        document = read_certificate(certificate)
        if document["digest"] != document_digest(document):
            raise ValueError("was altered after it was written: its digest is that of another content")
        records = document["certificates"]
        if len(records) != 1:
            raise ValueError(f"has {len(records)} certificates; expected one")
        if threshold is None and watched is not None and len(records[0]["rows"]) > 1:
            threshold = watched.threshold
        low, high = records[0]["settings"].get("support") or (None, None)
        support = None if low is None or high is None else (float(low), float(high))
        return claim_of_record(records[0], threshold=threshold), support, has_successes(records[0])


def _sha256(certificate: Path) -> str:
    return hashlib.sha256(content_of(certificate, "a certificate")).hexdigest()


def _tell(watching: Monitor, before: Any) -> None:
    """An alarm is told at once."""
    now = watching.evidence
    if now.alarm and not before.alarm:
        _say(f"alarm after task {int(now.alarm_at)}")
    if now.changed and not before.changed:
        _say(f"change found after task {int(now.change_at)}")


def _cells(row: Row) -> list[Any]:
    evidence = [math.exp(min(log, 700.0)) for log in (row.log_evidence, row.log_change)]
    mean = sum(row.returns) / len(row.returns)
    return [row.number, row.label, f"{mean:.9g}", int(row.is_against), *(f"{x:.6g}" for x in evidence)]
