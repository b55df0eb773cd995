"""`jaxcert trial start`: what is declared before the first trial, of tasks or of two policies."""

from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

from jaxcert._files import check_suffix, content_of
from jaxcert.cli import _console, _pair_texts, _trial_texts
from jaxcert.cli._options import argument, flag, option, several, with_group
from jaxcert.cli._run import SCHEDULES_NAMED
from jaxcert.cli._typed import refuse_both, typed_among
from jaxcert.rollouts import PairedTrials, Trials

# More than anybody tries by hand: a slip of the pen.
_MOST_TASKS = 10_000


class OfTasks(NamedTuple):
    """The declaration options for tasks only."""

    threshold: Annotated[list[Any] | None, several("X", "Performance to certify")] = None
    tasks: Annotated[str | None, option("A,B,...", "Labels of the tasks; or their number, for 0, 1, ...")] = None
    tasks_file: Annotated[Path | None, option("FILE", "The labels, one in each line.")] = None
    beta: Annotated[float, option("P", "Probability with which a task below a threshold may pass.")] = 0.05
    give_up: Annotated[float | None, option("W", "Leave a task with less evidence; by default 0.5, or 0.1.")] = None
    max_trials: Annotated[int | None, option("M", "Leave a task after so many; for successes by default 100.")] = None
    schedule: Annotated[str, option("NAME", f"Which task `next` advises: one of {SCHEDULES_NAMED}.")] = "closest"

    def start(self, log: Path, *, successes: bool, **settings: Any) -> Trials:
        """A log of trials of tasks."""
        if not self.threshold:
            raise ValueError("expected --threshold, the performance to certify, or --policies A,B")
        if successes and (wrong := [each for each in self.threshold if not 0 < each <= 1]):
            raise ValueError(f"--threshold is {wrong[0]:g}; expected a probability of success above 0, and at most 1")
        own = {name: getattr(self, name) for name in ("beta", "give_up", "max_trials", "schedule")}
        labels = _labels(self.tasks, self.tasks_file)
        return Trials.start(log, labels, self.threshold, successes=successes, **own, **settings)


class OfPairs(NamedTuple):
    """The declaration options for two policies only."""

    policies: Annotated[str | None, option("A,B", "Two policies to try in pairs until one is shown to be better.")] = (
        None
    )
    pairs: Annotated[int | None, option("N", "The most pairs; by default 200, of scores any number.")] = None
    margin: Annotated[float, option("C", "By how much one has to be better on average.")] = 0.0
    seed: Annotated[int | None, option("N", "Of the order within the pairs; drawn by default.")] = None
    blinded: Annotated[bool, flag("Call them X and Y; the first line of LOG says which is which.", "--blinded")] = False

    def start(self, log: Path, *, successes: bool, **settings: Any) -> PairedTrials:
        """A log of trials in pairs, which succeed or fail unless there is a support."""
        refuse_both("--successes", "--support")
        own = {name: getattr(self, name) for name in ("margin", "seed", "blinded")}
        names = [name.strip() for name in (self.policies or "").split(",")]
        return PairedTrials.start(log, names, max_pairs=self.pairs, **own, **settings)


@with_group("of_pairs", OfPairs)
@with_group("of_tasks", OfTasks)
def start_trials(
    log: Annotated[Path, argument("LOG", "The file, .jsonl; one that exists is kept.")],
    delta: Annotated[float, option("D", "Failure probability of each threshold's certificate, or of the answer.")],
    successes: Annotated[
        bool, flag("A trial succeeds or fails, as in pairs without --support.", "--successes")
    ] = False,
    support: Annotated[tuple[float, float] | None, option("A B", "Smallest and largest possible score.")] = None,
    *,
    of_tasks: OfTasks,
    of_pairs: OfPairs,
) -> None:
    """Declare an experiment in LOG, before its first trial.

    Draw its tasks at random from the distribution of new tasks; for a fixed list, it names another command. With
    --policies, each pair tries both policies on a newly drawn scene.
    """
    check_suffix(log, [".jsonl"])
    kind, other = (of_tasks, of_pairs) if of_pairs.policies is None else (of_pairs, of_tasks)
    if given := typed_among([f"--{name.replace('_', '-')}" for name in other._fields]):
        of = "an experiment without --policies" if kind is of_tasks else "--policies"
        raise ValueError(f"{given[0]} is given; {of} does not take it")
    with _console.warnings_on_stderr():
        found = kind.start(log, successes=successes, support=support, delta=delta)
    _console.say(*texts_of(found).beginning(found))


def texts_of(found: Trials | PairedTrials) -> ModuleType:
    """The texts for this kind of logs: `beginning`, `progress` and `standing`."""
    return _pair_texts if isinstance(found, PairedTrials) else _trial_texts


def _labels(tasks: str | None, file: Path | None) -> list[str]:
    """The labels, which are given in one of the two ways."""
    if (tasks is None) == (file is None):
        raise ValueError("expected one of --tasks and --tasks-file")
    if file is None:
        return _numbered(tasks or "") or [label.strip() for label in (tasks or "").split(",")]
    try:
        lines = content_of(file, "labels").decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: is no text in UTF-8 ({error}); expected a label in each line") from error
    return [line.strip() for line in lines if line.strip()]


def _numbered(tasks: str) -> list[str]:
    """Labels 0, 1, ... of so many tasks; empty where labels are given, as a number alone is none that is meant."""
    text = tasks.strip()
    if not _is_number(text):
        return []
    number = int(text[:20]) if text.isascii() and text.isdecimal() else 0
    if not 0 < number <= _MOST_TASKS:
        raise ValueError(f"--tasks is {text:.40}; expected labels, A,B,..., or a number from 1 to {_MOST_TASKS}")
    return list(map(str, range(number)))


def _is_number(text: str) -> bool:
    """Whether it is one, be it whole or positive or not."""
    try:
        float(text)
    except ValueError:
        return False
    return text[-1:].isdigit()
