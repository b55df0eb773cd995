"""`jaxcert monitor`: whether a certificate still holds, episode by episode from standard input."""

import contextlib
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import typer

from jaxcert._files import content_of, in_file
from jaxcert.cli._options import argument, flag, option, options, reading_of, with_group
from jaxcert.cli._outputs import check_distinct
from jaxcert.monitoring import Monitor, MonitoredClaim, claim_of_record
from jaxcert.monitoring._claims import has_successes
from jaxcert.monitoring._monitor_declared import as_declared, check_same
from jaxcert.monitoring._stream import tasks_from
from jaxcert.report import document_digest, read_certificate


@options
class Wished(NamedTuple):
    """Settings fixed when a monitor begins; None if not given."""

    threshold: float | None = option("B", "Which threshold of the certificate; or a claim of your own.")
    epsilon: float | None = option("E", "Without CERTIFICATE: the risk that is claimed.")
    alpha: float | None = option("A", "Probability of ever raising a false alarm; by default 0.05.")
    num_rollouts: int | None = option("M", "Episodes of each task, in a row; by default 1.", "--rollouts")
    support: tuple[float, float] | None = option(
        "A B", "Smallest and largest possible return; by default the certificate's."
    )
    successes: bool | None = flag("An episode succeeds (1) or fails (0).", "--successes", default=None)

    @property
    def given(self) -> dict[str, Any]:
        """The options by the names of a monitor's declared settings."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def opened(state: Path, certificate: Path | None, wished: Wished, *, complete: bool) -> Monitor:
    """Open the monitor of a file, or begin one; refuse settings that differ from those it began with.

    Anyone who alters a monitor's file can recompute its hashes, so where the certificate is given, all settings follow
    from it and the options, and the file must have them. A monitor that began in Python, without a certificate's file,
    accepts a file with exactly the claim it watches.
    """
    if not state.exists():
        claim, settings = _settled(certificate, wished)
        if claim is None:
            raise ValueError("expected CERTIFICATE, or --threshold and --epsilon, to begin a monitor")
        # Another process may begin it at the same moment: then this one shares it.
        with contextlib.suppress(FileExistsError):
            return Monitor.start(state, claim, complete=complete, **settings)
    watching = Monitor(state)
    with in_file(state):
        check_same(watching.declared, wished.given)
        if certificate is not None:
            watching.declared = as_declared(watching.declared, *_settled(certificate, wished))
    return watching


def _settled(certificate: Path | None, wished: Wished) -> tuple[Any, dict[str, Any]]:
    """The claim of a certificate or of the options, None for neither, and the other settings that they fix."""
    settings = {name: value for name, value in wished.given.items() if name not in ("threshold", "epsilon")}
    if certificate is None:
        known = wished.threshold, wished.epsilon
        return None if known[0] is None or known[1] is None else MonitoredClaim(known[0], known[1]), settings
    claim, support, successes = _certified(certificate, wished)
    sha256 = hashlib.sha256(content_of(certificate, "a certificate")).hexdigest()
    settings = {"certificate_sha256": sha256, "successes": successes, **settings}
    return claim, settings if settings["successes"] or support is None else {"support": support, **settings}


def _certified(certificate: Path, wished: Wished) -> tuple[MonitoredClaim, tuple[float, float] | None, bool]:
    """A certificate's claim, the known support, and whether returns are successes."""
    if wished.epsilon is not None:
        raise ValueError(f"--epsilon is {wished.epsilon:g}; the certificate has its own, expected none")
    with in_file(certificate):
        document = read_certificate(certificate)
        if document["digest"] != document_digest(document):
            raise ValueError("was altered after it was written: its digest is that of another content")
        record, *others = document["certificates"]
        if others:
            raise ValueError(f"has {1 + len(others)} certificates; expected one")
        low, high = record["settings"].get("support") or (None, None)
        support = None if low is None or high is None else (float(low), float(high))
        return claim_of_record(record, threshold=wished.threshold), support, has_successes(record)


def feed(watching: Monitor, columns: dict[str, Any], certified: Mapping[str, Any]) -> None:
    """Add the episodes on standard input; a terminal is not waited for."""
    if sys.stdin.isatty():
        return
    declared, is_empty = watching.declared, True
    settings: Any = {"support": declared.support, "certified": certified, "tell": lambda text: _say(f"warning: {text}")}
    for tasks in tasks_from(sys.stdin.buffer, declared.num_rollouts, columns, **settings):
        before, is_empty = watching.evidence, False
        watching.add(tasks)
        now = watching.evidence
        if now.alarm and not before.alarm:  # told at once
            _say(f"alarm after task {int(now.alarm_at)}")
        if now.changed and not before.changed:
            _say(f"change found after task {int(now.change_at)}")
    if is_empty:
        # This is no error: an hour without a task is no evidence against the claim.
        _say("warning: no episode was read from standard input")


def _say(text: str) -> None:
    """Print it on stderr at once."""
    print(text, file=sys.stderr, flush=True)


@with_group("wished", Wished)
def command(
    state: Path = option("FILE", "File of the monitor, created if missing.", default=...),
    certificate: Path | None = argument("[CERTIFICATE]", "File of `jaxcert certify --json`, to begin.", default=None),
    complete: bool = flag("Declare that each return is one of a whole episode.", "--complete"),
    change: bool = flag("Exit with 1 for a change at an unknown time, not the alarm.", "--change"),
    task: str | None = option("NAME", "Column of the tasks, a key in JSON; by default task_id or task."),
    value: str | None = option(
        "NAME", "Column of the outcomes; by default total_return, or return, score, success or passed."
    ),
    *,
    wished: Wished,
) -> None:
    """Add episodes from standard input to a monitor, and say whether the certificate still holds.

    The input is CSV with a header, or lines of JSON, tasks in the order in which they arrived. The exit status is 0
    without an alarm, also if no episode was read, 1 with one, 2 for an error. Tasks that are sent again count once.
    Options of a monitor that has begun are fixed: they may be given again, and others are refused.
    """
    check_distinct(("CERTIFICATE", certificate), ("--state", state))
    watching = opened(state, certificate, wished, complete=complete)
    certified = {} if certificate is None else read_certificate(certificate)["certificates"][0].get("data") or {}
    reading = reading_of({"task": task, "value": value})
    columns = {"task": reading["task"], "trial": None, "value": reading["value"]}
    is_whole = False
    try:
        feed(watching, columns, certified)
        is_whole = True
    finally:
        # A stream that ends in the middle of a task must not hide an alarm.
        is_reached = bool(watching.evidence.changed if change else watching.evidence.alarm)
        if is_whole or is_reached:
            print(watching)
    if is_reached:
        raise typer.Exit(1)
