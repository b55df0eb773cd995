"""A monitor in a file that outlives the process: tasks as they arrive, and what they say."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._chained import ChainedLog
from jaxcert._files import in_file
from jaxcert.certificates._figures import confidence
from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._monitor_declared import (
    Declared,
    declare,
    first_entry,
    read_declared,
    read_task,
    task_entry,
    with_claim,
)
from jaxcert.monitoring._monitor_state import Evidence, MonitorState, Row, Task, check_tasks, evidence, rows_after


class Monitor:
    """A monitor in a file: each deployed task is a line, on the disk when ``add`` returns.

    Each line has a hash of all lines up to it, and the state is computed again from them. A process that is killed
    loses at most what ``add`` had not returned from; tasks that are sent again are known by their labels, and count
    once. Several processes may share the file.

    The file holds the numbers of the claim, and no words: these are from the claim that is given, or made from the
    numbers. Whoever can write the file can compute its hashes again; give the claim where that matters.

    Args:
        path: a file of ``Monitor.start``.
        claim: what has to be monitored, such as ``claim_of`` a certificate; by default what the file says.

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

    def __init__(self, path: str | os.PathLike[str], *, claim: MonitoredClaim | None = None) -> None:
        self.path = Path(path)
        self._file = ChainedLog(self.path, "a monitor")
        self._known: dict[str, tuple[float, ...]] = {}
        self.rows: list[Row] = []
        self.declared: Declared
        self.state: MonitorState
        self._refresh(cut=False)
        self._file.warn()
        if claim is not None:
            with in_file(self.path):
                self.declared = with_claim(self.declared, claim)

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        claim: MonitoredClaim,
        *,
        support: tuple[float, float] | None = None,
        complete: bool = False,
        successes: bool = False,
        num_rollouts: int = 1,
        alpha: float = 0.05,
        beta: float | None = None,
        most_successes: int | None = None,
        certificate_sha256: str | None = None,
    ) -> "Monitor":
        """Declare a monitor, in a new file.

        Args:
            path: the file; one that exists is kept.
            claim: what is monitored.
            support: as in ``init``.
            complete: as in ``init``.
            successes: as in ``init``.
            num_rollouts: m, of each task.
            alpha: probability of ever raising a false alarm, in (0, 1), with delta less than 1 together.
            beta: as in ``init``.
            most_successes: as in ``init``.
            certificate_sha256: of the file of the certificate, if the claim is from one: ``declared`` has it.

        Returns:
            The monitor before its first task.

        Raises:
            FileExistsError: for a file that exists.
            ImportError: without filelock (extra ``io``).
            ValueError: as ``init``, or if no file can be written there.
        """
        settings = {"support": support, "complete": complete, "successes": successes, "num_rollouts": num_rollouts}
        settings |= {"alpha": alpha, "beta": beta, "most_successes": most_successes}
        declared = declare(claim, certificate_sha256, **settings)
        ChainedLog.start(path, first_entry(declared))
        return cls(path, claim=claim)

    @property
    def evidence(self) -> Evidence:
        """What the tasks so far say."""
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
        with self._file.lock:
            self._refresh(cut=True)
            new = self._new(given)
            self._file.add([task_entry(task) for task in new])
        return self._take(new)

    def __str__(self) -> str:
        """What may be said at this moment, with which confidence."""
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
        """Those that are not recorded yet."""
        new: dict[str, Task] = {}
        for task in given:
            before = self._known.get(task.label, new[task.label].returns if task.label in new else task.returns)
            if before != task.returns:
                raise ValueError(
                    f"task {task.label} is recorded with returns {_few(before)}; expected the same, not "
                    f"{_few(task.returns)}: a label is of one task"
                )
            if task.label not in self._known:
                new.setdefault(task.label, task)
        return list(new.values())

    def _refresh(self, *, cut: bool) -> None:
        """Read what another process may have added; ``cut`` ends an unfinished line, which needs the lock."""
        declared: Declared | None = vars(self).get("declared")
        tasks: dict[str, Task] = {}

        def take(entry: Mapping[str, Any]) -> None:
            nonlocal declared
            if declared is None:
                declared = read_declared(entry)
                return
            task = read_task(entry)
            if task.label in tasks or task.label in self._known:
                raise ValueError(f"the task {task.label!r:.40} occurs twice; expected each task once")
            tasks[task.label] = task

        self._file.read(take, cut=cut)
        if declared is None:
            raise ValueError(f"{self.path}: holds no complete line; expected what was declared as the first one")
        if not hasattr(self, "declared"):
            self.declared, self.state = declared, declared.state()
        with in_file(self.path):
            check_tasks(self.state.test, list(tasks.values()))
        self._take(list(tasks.values()))

    def _take(self, tasks: Sequence[Task]) -> list[Row]:
        """Advance the state by tasks that are on the disk."""
        self.state, rows = rows_after(self.state, tasks, len(self.rows))
        self.rows += rows
        self._known |= {task.label: task.returns for task in tasks}
        return rows


def _few(returns: tuple[float, ...]) -> str:
    return ", ".join(f"{x:g}" for x in returns[:3]) + (", ..." if len(returns) > 3 else "")


def _shown(log: float) -> str:
    """e**x in three figures, rounded down."""
    return f"{np.floor(1000 * np.exp(min(log, 700.0))) / 1000:g}" if log > -6 else "less than 0.01"
