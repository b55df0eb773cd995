"""Common operations on logs of single trials: open, add, withdraw, and resume in another process."""

import difflib
import os
from pathlib import Path
from typing import Any, Generic, TypeVar

from jaxcert.rollouts._chained import ChainedLog
from jaxcert.rollouts._declared import Declared, Trial, check_outcome
from jaxcert.rollouts._declared_pairs import DeclaredPairs
from jaxcert.rollouts._trial_log import Log, after, trial_entry, withdrawal_entry
from jaxcert.sequential import SequentialState
from jaxcert.tables._files import in_file

Kind = TypeVar("Kind", bound=Declared | DeclaredPairs)


class RecordedTrials(Generic[Kind]):
    """A log of single trials, of tasks (``Trials``) or of policies in pairs (``PairedTrials``), which open it.

    Args:
        path: a log of one of them.
    """

    # The declaration in a log of this class, and the class that opens the other kind.
    _declares: type[Any] = Declared
    _instead = ""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: ChainedLog[Any] = ChainedLog(self.path, "a log of trials", None, after)
        self._file.read()
        if not isinstance(self.declared, self._declares):
            raise ValueError(f"{self.path}: {self._instead}")
        self._file.warn()

    @property
    def _log(self) -> Log:
        return self._file.value

    @property
    def declared(self) -> Kind:
        """Settings fixed before the first trial."""
        return self._file.value.declared

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in order, including withdrawn ones; each has the index of its label."""
        return self._log.trials

    @property
    def withdrawn(self) -> tuple[Trial, ...]:
        """The trials that were withdrawn."""
        return tuple(trial for trial in self.trials if trial.withdrawn is not None and trial.value is not None)

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
        """The state of the sequential experiment after the trials that count."""
        return self._log.state

    def next_label(self) -> str | None:
        """The label whose trial is advised next; None if another trial is no evidence any more."""
        raise NotImplementedError

    def _check_open(self, place: int) -> None:
        """Raise ValueError if another trial of this label is no evidence any more."""
        raise NotImplementedError

    def _decided(self) -> list[int]:
        """The places of policies that are dropped before the next trial, as each comparison of theirs is decided."""
        return []

    def add(self, label: str, value: bool | float) -> None:
        """Record a trial; it is on the disk when this returns.

        Args:
            label: of the task, or of the policy.
            value: whether the trial succeeded, or its score; of one that broke off False, or the worst score.

        Raises:
            ValueError: for a label that was not declared, a value that was not, or where all is decided, so that
                another trial is no evidence any more.
            TimeoutError: if another process does not release the lock.
        """
        value = value if isinstance(value, bool) else float(value)
        with self._file.adding() as add:
            place = self._place(label)
            check_outcome(value, self.declared)
            with in_file(self.path):
                self.declared.turn(self._log.counted, place)
                self._check_open(place)
            outcomes = {**dict.fromkeys(self._decided()), place: value}
            add([trial_entry(self._log, *each) for each in outcomes.items()])

    def undo(self, why: str) -> Trial:
        """Withdraw the last trial that counts, or take back a policy that was dropped after it; it stays in the log.

        Args:
            why: the reason, which must not be how the trial went.

        Returns:
            The trial.

        Raises:
            ValueError: without a reason, or a trial that counts.
            TimeoutError: if another process does not release the lock.
        """
        why = " ".join(why.split())
        if not why or not why.isprintable():
            raise ValueError(f"why is {why!r:.60}; expected the reason in printable characters, which stays in the log")
        with self._file.adding() as add:
            with in_file(self.path):
                entry = withdrawal_entry(self._log, why)
            add([entry])
        return next(trial for trial in self.trials if trial.number == entry["withdrawn"])

    def _place(self, label: str) -> int:
        role, labels = self.declared.role, self.declared.labels
        if label in labels:
            return labels.index(label)
        near = difflib.get_close_matches(label, labels, cutoff=0.3) or sorted(labels)[:3]  # which reveals no policy
        raise ValueError(
            f"{self.path}: has no {role} {label!r}; expected one that was declared, such as {', '.join(near)}"
        )
