"""A monitor in a file that outlives the process: tasks as they arrive, and what they say."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._figures import confidence
from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._monitor_declared import FORMAT, Declared, as_declared, declare, first_entry, read_task
from jaxcert.monitoring._monitor_state import Evidence, MonitorState, Row, Task, check_tasks, evidence, rows_after
from jaxcert.rollouts._chained import ChainedLog, declared_in
from jaxcert.tables._entries import as_seen
from jaxcert.tables._files import in_file


class _Known(NamedTuple):
    """The contents of a monitor: the declaration, the state, and the row of each task by its label as it is seen."""

    declared: Declared
    state: MonitorState
    rows: dict[Any, Row]


class Monitor:
    """A monitor in a file: each deployed task is a line, on the disk when ``add`` returns.

    Each line has a hash of all lines up to it, and the state is computed again from them. A process that is killed
    loses at most what ``add`` had not returned from; tasks that are sent again are known by their labels, and count
    once. Several processes may share the file.

    The file holds the numbers of the claim, and no words: these are from the claim that is given, or made from the
    numbers. Whoever can write the file can compute its hashes again; give the claim, and the settings with which the
    monitor began, where that matters.

    Args:
        path: a file of ``Monitor.start``.
        claim: what has to be monitored, such as ``claim_of`` a certificate; by default what the file says.
        settings: beside a claim, the arguments of ``Monitor.start`` with which the monitor began, without ``complete``;
            a file that declares others is refused. By default the file is believed.

    Raises:
        ImportError: without filelock (extra ``io``).
        OSError: if the file cannot be read.
        ValueError: for anything else than such a file: a line that is damaged, altered, inserted or missing before
            others, a task that occurs twice, or another claim. Lines that are missing at the end are not found.

    Warns:
        UserWarning: for a last line that is incomplete.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, claim = f"{folder}/run.monitor", MonitoredClaim(0.5, 0.1)
        ...     monitor = Monitor.start(path, claim, successes=True, complete=True)
        ...     rows = monitor.add([("a", [1]), ("b", [0]), ("a", [1])])
        ...     len(rows), Monitor(path).evidence.num_tasks.item()
        (2, 2)

    Reference: the theory page, section 14.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        claim: MonitoredClaim | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self._file: ChainedLog[Any] = ChainedLog(self.path, "a monitor", None, _after)  # its state is a ``_Known``
        self._file.read()
        self._file.warn()
        self.declared = self._file.value.declared
        if claim is not None:
            with in_file(self.path):
                self.declared = as_declared(self.declared, claim, settings)

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        claim: MonitoredClaim,
        *,
        certificate_sha256: str | None = None,
        **settings: Any,
    ) -> "Monitor":
        """Declare a monitor, in a new file.

        Args:
            path: the file; one that exists is kept.
            claim: what is monitored.
            certificate_sha256: of the file of the certificate, if the claim is from one: ``declared`` has it.
            **settings: as in ``init``; alpha and delta are less than 1 together.

        Returns:
            The monitor before its first task.

        Raises:
            FileExistsError: for a file that exists.
            ImportError: without filelock (extra ``io``).
            ValueError: as ``init``, or if no file can be written there.
        """
        declared = declare(claim, certificate_sha256, **settings)
        ChainedLog.start(path, first_entry(declared))
        return cls(path, claim=claim)

    @property
    def state(self) -> MonitorState:
        """After the tasks so far."""
        return self._file.value.state

    @property
    def rows(self) -> list[Row]:
        """A row for each task so far."""
        return [*self._file.value.rows.values()]

    @property
    def evidence(self) -> Evidence:
        """The evidence of the tasks so far."""
        return evidence(self.state)

    def add(self, tasks: Sequence[tuple[str, Sequence[float]]]) -> list[Row]:
        """Record tasks, in the order in which they arrived; they are on the disk when this returns.

        Args:
            tasks: the label and the m returns of each. One that is recorded already, with the same returns, is left
                out.

        Returns:
            A row for each task that is new.

        Raises:
            ValueError: for another number of returns, an impossible one, or a label that is recorded with other
                returns; then nothing is recorded.
            TimeoutError: if another process does not release the lock.
        """
        given = [Task(label, tuple(map(float, returns))) for label, returns in tasks]
        check_tasks(self.state.test, given)
        with self._file.adding() as add:
            before = len(self.rows)
            add([{"task": task.label, "returns": list(task.returns)} for task in self._new(given)])
        return self.rows[before:]

    def __str__(self) -> str:
        """The conclusion at this moment, with its confidence."""
        found, claim, alpha = self.evidence, self.declared.claim, self.declared.alpha
        seen = f"{int(found.num_tasks)} tasks, {int(found.num_against)} of them against it"
        sure = confidence(claim.delta + alpha)
        both = f"confidence in both the certificate and the alarm: {sure}"
        if not claim.delta:
            both = f"confidence in the alarm: {sure}; the claim is taken as it was given"
        if found.alarm:
            return (
                f"ALARM after task {int(found.alarm_at)}: with confidence {sure} (1 - delta - alpha), deployed tasks "
                f"do not keep the claim that {claim} ({seen})."
            )
        return (
            f"No alarm: nothing speaks enough against the claim that {claim} ({seen}; evidence "
            f"{_shown(float(found.log_evidence))} of the {1 / alpha:g} of an alarm, which is ever false with "
            f"probability at most {alpha:g}; {both})."
        )

    def _new(self, given: list[Task]) -> list[Task]:
        """The tasks that are not recorded yet."""
        known, new = self._file.value.rows, dict[Any, Task]()
        for task in given:
            before = known.get(as_seen(task.label)) or new.setdefault(as_seen(task.label), task)
            if before.returns != task.returns:
                raise ValueError(
                    f"task {task.label} is recorded with returns {_few(before.returns)}; expected the same, not "
                    f"{_few(task.returns)}: a label names one task"
                )
        return list(new.values())


def _after(before: _Known | None, entries: Iterator[Mapping[str, Any]]) -> _Known:
    """The contents of a monitor after more entries; its very first entry is the declaration."""
    if before is None:
        declared = declared_in(next(entries, None), {FORMAT: Declared.from_json})
        before = _Known(declared, declared.state(), {})
    tasks: dict[Any, Task] = {}
    for task in map(read_task, entries):
        check_tasks(before.state.test, [task])
        seen = as_seen(task.label)
        if seen in tasks or seen in before.rows:
            raise ValueError(f"the task {task.label!r:.40} occurs twice; expected each task once")
        tasks[seen] = task
    state, rows = rows_after(before.state, list(tasks.values()), len(before.rows))
    return _Known(before.declared, state, before.rows | {as_seen(row.label): row for row in rows})


def _few(returns: tuple[float, ...]) -> str:
    return ", ".join(f"{x:g}" for x in returns[:3]) + (", ..." if len(returns) > 3 else "")


def _shown(log: float) -> str:
    """e**x in three figures, rounded down."""
    return f"{np.floor(1000 * np.exp(min(log, 700.0))) / 1000:g}" if log > -6 else "less than 0.01"
