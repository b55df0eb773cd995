"""`jaxcert monitor`: whether a certificate still holds, by the episodes on standard input."""

import contextlib
import hashlib
import itertools
import select
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import typer

from jaxcert.cli._app import check_distinct
from jaxcert.cli._options import (
    RoleOptions,
    argument,
    flag,
    option,
    options,
    options_of,
    reading_of,
    taking,
    with_group,
)
from jaxcert.monitoring import Monitor, MonitoredClaim, claim_of_record
from jaxcert.monitoring._claims import has_successes
from jaxcert.monitoring._deployed import deployed_tasks
from jaxcert.monitoring._monitor_declared import as_declared, check_same
from jaxcert.report import document_digest, read_certificate
from jaxcert.report._recorded_files import recorded_roles
from jaxcert.tables._files import content_of, in_file
from jaxcert.tables._roles import Roles

# The roles of columns that are none of deployed episodes.
_NOT_TAKEN = ("successes", "trials", "strata", "tasks", "records", "recipe")
_PAUSE = 0.2  # seconds after which the episodes that came are looked at


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
        recorded_roles(record.get("data") or {})  # as its sentence names a group
        if others:
            raise ValueError(f"has {1 + len(others)} certificates; expected one")
        low, high = record["settings"].get("support") or (None, None)
        support = None if low is None or high is None else (float(low), float(high))
        return claim_of_record(record, threshold=wished.threshold), support, has_successes(record)


def feed(watching: Monitor, stream: Any, roles: Roles, certified: Mapping[str, Any]) -> None:
    """Add the episodes of an input up to the first task without all of its rollouts, which is refused."""
    declared, tasks = watching.declared, []
    for content, is_end in _arrived(stream):
        before, num_before = watching.evidence, len(tasks)
        tasks = deployed_tasks(content, roles, support=declared.support, certified=certified)
        whole = [*itertools.takewhile(lambda task: len(task[1]) == declared.num_rollouts, tasks)]
        watching.add(whole[num_before:])
        _tell_news(before, watching.evidence)
        if is_end or len(tasks) > len(whole) + 1:  # the last task may wait for its rollouts
            watching.add(tasks[len(whole) :])
        tasks = whole
    if not tasks:
        # This is no error: an hour without a task is no evidence against the claim.
        _say("warning: no episode was read from standard input")


def _tell_news(before: Any, now: Any) -> None:
    """Tell of an alarm and of a change at once."""
    if now.alarm and not before.alarm:
        _say(f"alarm after task {int(now.alarm_at)}")
    if now.changed and not before.changed:
        _say(f"change found after task {int(now.change_at)}")


def _arrived(stream: Any) -> Iterator[tuple[bytes, bool]]:
    """All whole lines that have come, whenever the input pauses; at its end all of it."""
    content = b""
    while chunk := stream.read1():
        content += chunk
        with contextlib.suppress(OSError):  # of an input that is no pipe
            if not select.select([stream], [], [], _PAUSE)[0]:
                yield content[: content.rfind(b"\n") + 1], False
    yield content, True


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@taking("roles", options_of(RoleOptions, without=_NOT_TAKEN), dict)
@with_group("wished", Wished)
def command(
    state: Path = option("FILE", "File of the monitor, created if missing.", default=...),
    certificate: Path | None = argument("[CERTIFICATE]", "File of `jaxcert certify --json`, to begin.", default=None),
    complete: bool = flag("Declare that each return is one of a whole episode.", "--complete"),
    change: bool = flag("Exit with 1 for a change at an unknown time, not the alarm.", "--change"),
    *,
    wished: Wished,
    roles: dict[str, Any],
) -> None:
    """Add episodes from standard input to a monitor, and say whether the certificate still holds.

    The input is CSV with a header, or lines of JSON, tasks in the order in which they arrived. An alarm is told when it
    is raised. The exit status is 0 without an alarm, also if no episode was read, 1 with one, 2 for an error. Tasks
    that are sent again count once.
    Options of a monitor that has begun are fixed: they may be given again, and others are refused.
    """
    check_distinct(("CERTIFICATE", certificate), ("--state", state))
    watching = opened(state, certificate, wished, complete=complete)
    certified = {} if certificate is None else read_certificate(certificate)["certificates"][0].get("data") or {}
    is_whole = False
    try:
        if not sys.stdin.isatty():  # a terminal is not waited for
            reading = Roles(**reading_of({**roles, "trial": roles["trial"] or ""}))
            feed(watching, sys.stdin.buffer, reading, certified)
        is_whole = True
    finally:
        # An input that ends in the middle of a task must not hide an alarm.
        is_reached = bool(watching.evidence.changed if change else watching.evidence.alarm)
        if is_whole or is_reached:
            print(watching)
    if is_reached:
        raise typer.Exit(1)
