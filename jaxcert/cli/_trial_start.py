"""`jaxcert trial start`: what is declared before the first trial, of tasks or of two policies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from jaxcert._files import check_suffix, content_of
from jaxcert.cli import _console
from jaxcert.cli._options import argument, flag, option, several
from jaxcert.cli._pair_texts import beginning_of_pairs
from jaxcert.cli._run import SCHEDULES_NAMED
from jaxcert.cli._trial_texts import beginning
from jaxcert.cli._typed import typed_among
from jaxcert.rollouts import PairedTrials, Trials

_OF_TASKS = ("--tasks", "--tasks-file", "--threshold", "--beta", "--give-up", "--max-trials", "--schedule")
_OF_PAIRS = ("--pairs", "--margin", "--seed", "--blinded")
# More than anybody tries by hand: a slip of the pen.
_MOST_TASKS = 10_000


def start_trials(
    log: Annotated[Path, argument("LOG", "The file, .jsonl; one that exists is kept.")],
    delta: Annotated[float, option("D", "Failure probability of each threshold's certificate, or of the answer.")],
    threshold: Annotated[list[Any] | None, several("X", "Performance to certify")] = None,
    tasks: Annotated[str | None, option("A,B,...", "Labels of the tasks; or their number, for 0, 1, ...")] = None,
    tasks_file: Annotated[Path | None, option("FILE", "The labels, one in each line.")] = None,
    successes: Annotated[
        bool, flag("A trial succeeds or fails; so it does in pairs without --support.", "--successes")
    ] = False,
    support: Annotated[tuple[float, float] | None, option("A B", "Smallest and largest possible score.")] = None,
    beta: Annotated[float, option("P", "Probability with which a task below a threshold may pass.")] = 0.05,
    give_up: Annotated[
        float | None, option("W", "Leave a task when its evidence falls below this; by default 0.5, or 0.1.")
    ] = None,
    max_trials: Annotated[int | None, option("M", "Leave a task after so many; for successes by default 100.")] = None,
    schedule: Annotated[str, option("NAME", f"Which task `next` advises: one of {SCHEDULES_NAMED}.")] = "closest",
    policies: Annotated[
        str | None, option("A,B", "Two policies to try in pairs until one is shown to be better.")
    ] = None,
    pairs: Annotated[int | None, option("N", "The most pairs; by default 200, of scores any number.")] = None,
    margin: Annotated[float, option("C", "By how much one has to be better on average.")] = 0.0,
    seed: Annotated[int | None, option("N", "Of the order within the pairs; drawn by default.")] = None,
    blinded: Annotated[
        bool, flag("Call the policies X and Y; the first line of LOG says which is which.", "--blinded")
    ] = False,
) -> None:
    """Declare an experiment in LOG, before its first trial.

    Its tasks are drawn at random from those that new ones come from. A fixed list has another command, which is named.
    With --policies each pair is a trial of both on a scene drawn anew.
    """
    check_suffix(log, [".jsonl"])
    if policies is not None:
        _refuse("--policies", _OF_TASKS)
        if successes and support is not None:
            raise ValueError("--successes and --support are given; expected one of them")
        limits = {"support": support, "margin": margin, "max_pairs": pairs, "seed": seed, "blinded": blinded}
        _start_pairs(log, [name.strip() for name in policies.split(",")], delta, limits)
        return
    _refuse("an experiment without --policies", _OF_PAIRS)
    if not threshold:
        raise ValueError("expected --threshold, the performance to certify, or --policies A,B")
    if successes and (wrong := [each for each in threshold if not 0 < each <= 1]):
        raise ValueError(f"--threshold is {wrong[0]:g}; expected a probability of success above 0, and at most 1")
    with _console.warnings_on_stderr():
        found = Trials.start(
            log,
            _labels(tasks, tasks_file),
            threshold,
            support=support,
            successes=successes,
            delta=delta,
            beta=beta,
            give_up=give_up,
            max_trials=max_trials,
            schedule=schedule,
        )
    _console.output().print("\n".join(beginning(found)))


def _start_pairs(log: Path, names: list[str], delta: float, limits: dict[str, Any]) -> None:
    with _console.warnings_on_stderr():
        found = PairedTrials.start(log, names, delta=delta, **limits)
    _console.output().print("\n".join(beginning_of_pairs(found)))


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


def _refuse(of: str, options: Sequence[str]) -> None:
    """Raise ValueError if one of these options was typed, which such an experiment has not."""
    if others := typed_among(options):
        raise ValueError(f"{others[0]} is given; {of} has none")
