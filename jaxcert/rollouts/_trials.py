"""An experiment trial by trial, as with a robot, in a log that outlives the process."""

import os
from collections.abc import Sequence

import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import as_number, as_numbers, check_count
from jaxcert.rollouts._adaptive import AdaptiveCertificate
from jaxcert.rollouts._chained import ChainedLog
from jaxcert.rollouts._declared import Declared, check_possible, fewest_to_pass, two_ends
from jaxcert.rollouts._recorded_trials import RecordedTrials
from jaxcert.rollouts._trial_log import begun, first_entry, run_of, with_trials
from jaxcert.sequential._rule import usual_rule
from jaxcert.tables._entries import ask_about_alike
from jaxcert.tables._label_doubts import ask_about_labels

# Trials of a task after which it is left, for successes: the rule for these is a table, and needs such a number.
_MOST_TRIALS = 100


class Trials(RecordedTrials[Declared]):
    """An experiment trial by trial, for a robot instead of an environment: a log of single trials and its certificate.

    Everything is declared before the first trial. Then each trial is a line of the log, on the disk when ``add``
    returns, with a hash of all lines up to it; the state is computed again from the log. A process that is killed
    loses at most the line that it was writing, and who opens the log next is told. Several processes may share it.

    It certifies what ``certify_adaptive`` does: with probability at least 1 - delta for each threshold, the certificate
    holds at every moment, whichever task was tried next, and whenever and why the experiment ended. The tasks are drawn
    independently, and all of them count, tried or not. A trial that broke off is a failure, or has the worst score.

    A trial may be withdrawn, for example after a typing error. It stays in the log and does not count. Then the
    certificate holds only if none was withdrawn because of how it went; ``run(count_withdrawn=True)`` counts the
    withdrawn ones as the worst returns, and holds for whatever reason they were withdrawn.

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

    _instead = "is a log of policies in pairs; expected one of tasks (PairedTrials opens it)"

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        tasks: Sequence[str],
        thresholds: Numeric | Sequence[float],
        *,
        support: tuple[float, float] | None = None,
        successes: bool = False,
        delta: float,
        beta: float = 0.05,
        give_up: float | None = None,
        max_trials: int | None = None,
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
        if not successes and support is None:
            raise ValueError(
                "support is not given; expected support=(a, b), the smallest and the largest possible score (--support "
                "A B), or successes=True, where a trial succeeds or fails (--successes)"
            )
        if isinstance(tasks, str):
            raise ValueError(f"tasks are {tasks!r}; expected a list of labels")
        if max_trials is not None:
            check_count("max_trials", max_trials)
        bets, usual = usual_rule(successes)
        declared = Declared(
            tasks=tuple(tasks),
            thresholds=tuple(as_numbers("thresholds", thresholds).reshape(-1).tolist()),
            support=two_ends(support),
            successes=successes,
            delta=as_number("delta", delta),
            beta=as_number("beta", beta),
            bets=bets,
            give_up=as_number("give_up", usual if give_up is None else give_up),
            max_trials=int(max_trials or _MOST_TRIALS) if successes or max_trials else None,
        )
        check_possible(declared)
        ask_about_labels(declared.tasks)
        ask_about_alike(declared.tasks, "tasks hold")
        ChainedLog.start(path, first_entry(declared))
        return cls(path)

    def next_task(self) -> str | None:
        """The task that is closest to passing; None if every task is decided. Any other may be tried instead."""
        state, can_pass = self.state, np.any(fewest_to_pass(self.state) > 0, axis=-1)
        share = np.asarray(state.mean_wealth) / np.asarray(state.goal)
        closeness = np.max(np.where(state.is_open, share, 0), axis=-1)
        place = int(np.argmax(np.where(can_pass, closeness, -1)))
        return self.declared.tasks[place] if can_pass[place] else None

    next_label = next_task

    def run(self, *, count_withdrawn: bool = False) -> AdaptiveCertificate:
        """The certificate at this moment, with the trials behind it, as an adaptive run.

        Args:
            count_withdrawn: count each withdrawn trial as the worst return, at its place.

        Returns:
            The run; its tasks have one parameter, their ``label``.
        """
        if not count_withdrawn:
            return run_of(self._log)
        worst = self.declared.support[0]
        every = (each if each.withdrawn is None else each._replace(value=worst, withdrawn=None) for each in self.trials)
        return run_of(with_trials(begun(self.declared), tuple(every)))

    def _check_open(self, place: int) -> None:
        if not np.any(self.state.is_open[place]):
            label = self.declared.tasks[place]
            raise ValueError(f"{label} is decided, and another trial is no evidence; expected a task that is not")
