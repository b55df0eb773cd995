"""An experiment trial by trial, as with a robot, in a log that outlives the process."""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from jaxcert._chained import ChainedLog
from jaxcert._files import in_file
from jaxcert.numerics._rounding import convert_host
from jaxcert.rollouts._declared import Declared, declare
from jaxcert.rollouts._resumption import AdaptiveCertificate
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.rollouts._trial_log import Log, Trial, first_entry, trial_entry, with_entry, withdrawal_entry
from jaxcert.sequential import SequentialState, certificate, update
from jaxcert.sequential._wealth import fewest_to_pass
from jaxcert.tables._labels import ask_about_labels


class _Known(NamedTuple):
    """What a log says, and what the trials that count come to.

    ``passed_after``: how many had been taken in when a task passed; 0 if it did not, int32[n, t].
    """

    log: Log
    trials: tuple[Trial, ...]
    state: SequentialState
    passed_after: np.ndarray


class Trials:
    """An experiment trial by trial, for a robot in place of an environment: a log of single trials, and what they say.

    Everything is declared before the first trial. Then each trial is a line of the log, on the disk when ``add``
    returns, with a hash of all lines up to it; the state is computed again from the log. A process that is killed
    loses at most the line that it was writing, and who opens the log next is told. Several processes may share it.

    It certifies what ``certify_adaptive`` does: with probability at least 1 - delta for each threshold, the certificate
    holds at every moment, whichever task was tried next, and whenever and why the experiment ended. The tasks are drawn
    independently; all of them count, tried or not; a trial that broke off is a failure, or has the worst score.

    A trial may be withdrawn, as one that was mistyped. It stays in the log and does not count. Then the certificate
    holds only if none was withdrawn because of how it went; ``run(count_withdrawn=True)`` counts the withdrawn ones as
    the worst returns, and holds for whatever reason they were withdrawn.

    Args:
        path: a log of ``Trials.start``.

    Raises:
        ImportError: without filelock (extra ``io``).
        OSError: if the file cannot be read.
        ValueError: for anything else than such a log: a line that is damaged, altered, inserted or missing before
            others. Lines that are missing at the end are not found.

    Warns:
        UserWarning: for a last line that is incomplete.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/trials.jsonl"
        ...     trials = Trials.start(path, ["shelf", "table", "floor"], 0.5, successes=True, delta=0.1)
        ...     for _ in range(6):
        ...         trials.add("table", True)
        ...     again = Trials(path)  # as another process opens it
        >>> again.run().state.passed[:, 0].tolist(), again.next_task()
        ([False, True, False], 'shelf')

    Reference: the theory page, section 8.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: ChainedLog[Any] = ChainedLog(self.path, "a log of trials", None, _after)
        self._file.read(cut=False)
        self._file.warn()

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        tasks: Sequence[str],
        thresholds: chex.Numeric | Sequence[float],
        *,
        support: tuple[float, float] | None = None,
        successes: bool = False,
        delta: float,
        beta: float = 0.05,
        give_up: float | None = None,
        max_trials: int | None = None,
        schedule: str = "closest",
    ) -> "Trials":
        """Declare an experiment, in a new file.

        Args:
            path: the file; one that exists is kept.
            tasks: a label for each task; every one of them counts, whether it is ever tried or not.
            thresholds: B, one or several, below the largest possible value.
            support: (a, b), which holds every possible score; b may be infinite.
            successes: whether a trial succeeds or fails; its support is (0, 1) then.
            delta: failure probability of the certificate of each threshold, in (0, 1).
            beta: probability with which a task with J < B may pass, in (0, 1).
            give_up: the wealth at which a task is left, in [0, 1); by default 0.5, for successes 0.1.
            max_trials: of a task, after which it is left; by default there is no limit, for successes it is 100.
            schedule: of ``next_task``: "closest" goes on with the task that is closest to passing, "round_robin" with
                the one that was tried least.

        Returns:
            The experiment before its first trial.

        Raises:
            FileExistsError: for a file that exists.
            ImportError: without filelock (extra ``io``).
            ValueError: for what cannot be declared, as a threshold at which no task passes within ``max_trials``; or if
                no file can be written there.

        Warns:
            UserWarning: for labels such as ckpt_1 and ckpt_2, which may be of policies or trials.
        """
        declared = declare(
            tasks,
            thresholds,
            support=support,
            successes=successes,
            delta=delta,
            beta=beta,
            give_up=give_up,
            max_trials=max_trials,
            schedule=schedule,
        )
        ask_about_labels(declared.tasks)
        ChainedLog.start(path, first_entry(declared))
        return cls(path)

    @property
    def _known(self) -> _Known:
        return self._file.value

    @property
    def declared(self) -> Declared:
        """What was fixed before the first trial."""
        return self._known.log.declared

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in their order, with those that were withdrawn; each has the place of its task."""
        return self._known.log.trials

    @property
    def withdrawn(self) -> tuple[Trial, ...]:
        """The trials that were withdrawn."""
        return tuple(trial for trial in self.trials if trial.withdrawn is not None)

    @property
    def last_hash(self) -> str:
        """The hash of the last line, and so of all lines: which log it was, and how far."""
        return self._file.chain

    @property
    def sha256(self) -> str:
        """The SHA-256 of the log up to its last complete line, which a line break ends."""
        return self._file.sha256

    @property
    def state(self) -> SequentialState:
        """Of the sequential experiment, after the trials that count."""
        return self._known.state

    def add(self, task: str, value: bool | float) -> None:
        """Record a trial; it is on the disk when this returns.

        Args:
            task: its label.
            value: whether the trial succeeded, or its score; of one that broke off False, or the worst score.

        Raises:
            ValueError: for a label that was not declared, a value that was not, or a task that is decided, whose trials
                are no evidence any more.
            TimeoutError: if another process does not release the lock.
        """
        value = value if isinstance(value, bool) else float(value)
        with self._file.lock:
            self._file.read(cut=True)
            place = self._place(task)
            self.declared.check_value(value)
            if not np.any(self.state.is_open[place]):
                raise ValueError(
                    f"{self.path}: {task} is decided, and another trial is no evidence; expected a task that is not"
                )
            self._file.add([trial_entry(self._known.log, place, value)])

    def undo(self, why: str) -> Trial:
        """Withdraw the last trial that counts; it stays in the log, with the reason.

        Args:
            why: the reason, which must not be how the trial went.

        Returns:
            The trial.

        Raises:
            ValueError: without a reason, or a trial that counts.
            TimeoutError: if another process does not release the lock.
        """
        why = " ".join(why.split())
        if not why:
            raise ValueError("why is empty; expected the reason, which stays in the log")
        with self._file.lock:
            self._file.read(cut=True)
            with in_file(self.path):
                entry = withdrawal_entry(self._known.log, why)
            self._file.add([entry])
        return next(trial for trial in self.trials if trial.number == entry["withdrawn"])

    def next_task(self) -> str | None:
        """The task that the schedule advises; None if every task is decided. Any other may be tried instead."""
        keys = SCHEDULES[self.declared.schedule](self.state, self.state.num_rollouts)
        keys = np.where(np.any(fewest_to_pass(self.state) > 0, axis=-1), np.asarray(keys), np.inf)
        place = int(np.argmin(keys))
        return self.declared.tasks[place] if np.isfinite(keys[place]) else None

    def run(self, *, count_withdrawn: bool = False) -> AdaptiveCertificate:
        """The certificate at this moment, with the trials behind it, as an adaptive run for ``save_adaptive``.

        Args:
            count_withdrawn: count each withdrawn trial as the worst return, at its place.

        Returns:
            The run; its tasks have one parameter, their ``label``.
        """
        known, declared = self._known, self.declared
        if count_withdrawn:
            worst = declared.support[0]
            every = (each if each.withdrawn is None else each._replace(value=worst) for each in self.trials)
            known = _counted(known.log, tuple(every))
        return AdaptiveCertificate(
            certificate=certificate(known.state, declared.delta),
            state=known.state,
            tasks={"label": np.array(declared.tasks)},
            num_started=jnp.asarray(len(self.trials), jnp.int32),
            num_unfinished=jnp.asarray(0, jnp.int32),
            passed_after=jnp.asarray(known.passed_after),
            rollout_task=jnp.asarray([trial.task for trial in known.trials], jnp.int32),
            rollout_return=jnp.asarray(_rounded([trial.value for trial in known.trials], known.state)),
            deterministic=None,
        )

    def _place(self, task: str) -> int:
        tasks = self.declared.tasks
        if task in tasks:
            return tasks.index(task)
        near = difflib.get_close_matches(task, tasks, cutoff=0.3) or tasks[:3]
        raise ValueError(
            f"{self.path}: has no task {task!r}; expected one that was declared, such as {', '.join(near)}"
        )


def _after(before: _Known | None, entries: Iterator[Mapping[str, Any]]) -> _Known:
    """What a log says with more entries."""
    log = None if before is None else before.log
    for entry in entries:
        log = with_entry(log, entry)
    if log is None:
        raise ValueError("holds no complete line; expected what was declared as the first one")
    return _counted(log, tuple(trial for trial in log.trials if trial.withdrawn is None), before)


def _counted(log: Log, trials: tuple[Trial, ...], before: _Known | None = None) -> _Known:
    """What these trials come to, taken in one by one; from where it was before, unless one was withdrawn.

    It is computed in the precision that JAX has now: in each, a wealth is at most its exact value (theory page,
    section 8), so that a log may be read in another one than it was written in.
    """
    if before is None or before.trials != trials[: len(before.trials)]:
        state = log.declared.state()
        before = _Known(log, (), state, np.zeros(state.passed.shape, np.int32))
    _, taken, state, passed_after = before
    for count, trial in enumerate(trials[len(taken) :], start=len(taken) + 1):
        passed = np.asarray(state.passed)
        state = update(state, _rounded([trial.value], state), np.array([trial.task]))
        passed_after = np.where(np.asarray(state.passed) & ~passed, np.int32(count), passed_after)
    return _Known(log, trials, state, passed_after)


def _rounded(values: Sequence[float], state: SequentialState) -> np.ndarray:
    """Values in the precision of the state, rounded down."""
    return convert_host(np.array(values, np.float64), np.dtype(state.wealth.dtype), "down")
