"""`jaxcert trial`: an experiment trial by trial, as with a robot, recorded in a log."""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import typer

from jaxcert.cli import _console, _trial_texts
from jaxcert.cli._app import refuse_both, typed_among
from jaxcert.cli._options import argument, flag, in_shell, option, options, several, with_group
from jaxcert.cli._outputs import Outputs
from jaxcert.report import certificate_document, check_trials, trial_records
from jaxcert.report.html._several_page import write_pairs
from jaxcert.report.plots._evidence_plot import plot_pairs
from jaxcert.rollouts import PairedTrials, Trials
from jaxcert.rollouts._declared import outcomes_of
from jaxcert.rollouts._paired_trials import open_trials
from jaxcert.tables._files import check_suffix

# More than anybody tries by hand: a slip of the pen.
_MOST_TASKS = 10_000


@options
class OfTasks(NamedTuple):
    """The declaration options for tasks only."""

    threshold: list[Any] | None = several("X", "Performance to certify")
    tasks: str | None = option("A,B,...", "Labels of the tasks; or their number, for 0, 1, ...")
    beta: float = option("P", "Probability with which a task below a threshold may pass.", default=0.05)
    give_up: float | None = option("W", "Leave a task with less evidence; by default 0.5, or 0.1.")
    max_trials: int | None = option("M", "Leave a task after so many; for successes by default 100.")

    def start(self, log: Path, *, successes: bool, **settings: Any) -> Trials:
        """A log of trials of tasks."""
        if not self.threshold:
            raise ValueError("expected --threshold, the performance to certify, or --policies A,B")
        own = {name: getattr(self, name) for name in ("beta", "give_up", "max_trials")}
        return Trials.start(log, _labels(self.tasks), self.threshold, successes=successes, **own, **settings)


@options
class OfPairs(NamedTuple):
    """The declaration options for two policies only."""

    policies: str | None = option("A,B,...", "Policies to try on the same scenes until it is shown which is better.")
    pairs: int | None = option("N", "The most pairs or blocks; by default 200, of scores any number.")
    margin: float = option("C", "By how much one has to be better on average.", default=0.0)
    seed: int | None = option("N", "Of the order within pairs; drawn by default.")
    blinded: bool = flag("Call them X, Y, ...; the first line of LOG says which is which.", "--blinded")

    def start(self, log: Path, *, successes: bool, **settings: Any) -> PairedTrials:
        """A log of trials in pairs, which succeed or fail unless there is a support."""
        refuse_both("--successes", "--support")
        own = {name: getattr(self, name) for name in ("margin", "seed", "blinded")}
        names = [name.strip() for name in (self.policies or "").split(",")]
        return PairedTrials.start(log, names, max_pairs=self.pairs, **own, **settings)


group = typer.Typer()


@group.command("start")
@with_group("of_pairs", OfPairs)
@with_group("of_tasks", OfTasks)
def start_trials(
    log: Path = argument("LOG", "The file, .jsonl; one that exists is kept."),
    delta: float = option("D", "Failure probability of each threshold's certificate, or of the answer.", default=...),
    successes: bool = flag("A trial succeeds or fails, as in pairs without --support.", "--successes"),
    support: tuple[float, float] | None = option("A B", "Smallest and largest possible score."),
    *,
    of_tasks: OfTasks,
    of_pairs: OfPairs,
) -> None:
    """Declare an experiment in LOG, before its first trial.

    Draw its tasks at random from the distribution of new tasks; for a fixed list, it names another command. With
    --policies, each pair tries both policies on a newly drawn scene, and each block of more all of them.
    """
    check_suffix(log, [".jsonl"])
    kind, other = (of_tasks, of_pairs) if of_pairs.policies is None else (of_pairs, of_tasks)
    if given := typed_among([f"--{name.replace('_', '-')}" for name in other._fields]):
        of = "an experiment without --policies" if kind is of_tasks else "--policies"
        raise ValueError(f"{given[0]} is given; {of} does not take it")
    found = kind.start(log, successes=successes, support=support, delta=delta)
    _console.say(*_trial_texts.beginning(found))


def _labels(tasks: str | None) -> list[str]:
    """The labels; a single number stands for that many tasks, labelled 0, 1, ..."""
    labels = [label.strip() for label in (tasks or "").split(",")]
    if len(labels) > 1:
        return labels
    number = int(labels[0][:20]) if labels[0].isascii() and labels[0].isdecimal() else 0
    if not 0 < number <= _MOST_TASKS:
        raise ValueError(f"--tasks is {tasks!s:.40}; expected labels, A,B,..., or a number from 1 to {_MOST_TASKS}")
    return [*map(str, range(number))]


LOG = argument("LOG", "The log of `jaxcert trial start`.")


@group.callback()
def command() -> None:
    """Certify trial by trial, as with a robot: declare, record, and stop whenever you like. Tasks are drawn at
    random from the distribution of new tasks. For a fixed list, run equally many trials of each task, then `jaxcert
    certify FILE --suite`. Policies are tried in pairs, until one is shown to be better.
    """


@group.command("add")
def add_trial(
    log: Path = LOG,
    label: str = option("LABEL", "The task that was tried; in pairs, the policy.", "--task", "--policy", default=...),
    success: bool | None = flag("Its outcome; one that broke off has failed.", "--success/--failure", default=None),
    score: float | None = option("X", "Its score, where declared; the worst if it broke off."),
) -> None:
    """Record a trial in LOG; it is on the disk when the command ends."""
    refuse_both("--success", "--failure")
    given = [value for value in (success, score) if value is not None]
    found = open_trials(log)
    if len(given) != 1:
        wanted = outcomes_of(found.declared.successes, found.declared.support)
        raise ValueError(f"expected one of --success, --failure and --score, for {wanted}")
    found.add(label, given[0])
    _console.say(_trial_texts.progress(found, label))


@group.command("undo")
def undo_trial(
    log: Path = LOG, why: str = option("TEXT", "The reason, which must not be how the trial went.", default=...)
) -> None:
    """Withdraw the last trial in LOG; it stays there, with the reason, and does not count."""
    found = open_trials(log)
    gone = found.undo(why)
    label = found.declared.labels[gone.task]
    told = f"withdrawn: trial {gone.number}, of {label}; {len(found.withdrawn)} in all"
    _console.say(f"{label} is in again" if gone.value is None else told, _trial_texts.progress(found, label))


@group.command("drop")
def drop_policy(log: Path = LOG, policy: str = option("LABEL", "The policy.", default=...)) -> None:
    """Leave one of several policies in LOG out of all later blocks, for whatever reason; what was shown stays."""
    found = PairedTrials(log)
    found.drop(policy)
    _console.say("; ".join([f"{policy} is dropped", *_trial_texts.next_of(found)]))


@group.command("next")
def next_task(log: Path = LOG) -> None:
    """Print the label of the task or policy that LOG advises to try next; nothing, with exit status 1, at the end."""
    label = open_trials(log).next_label()
    if label is None:
        raise typer.Exit(1)
    _console.say(label)


@group.command("status")
@with_group("outputs", Outputs, without=["witness", "labels", "title"])
def trial_status(log: Path = LOG, *, outputs: Outputs) -> None:
    """Say how far LOG has come, and what is certified so far; of policies --plot draws the evidence after each pair,
    and --report writes a page.
    """
    outputs.check(("LOG", log))
    found: Any = open_trials(log)
    is_of_tasks, checked = isinstance(found, Trials), in_shell("verify", [log.name], [])
    drawn = [name for name in ("plot", "report") if getattr(outputs, name) is not None]
    if drawn and is_of_tasks:
        raise ValueError(f"{log}: --{drawn[0]} is for policies in pairs; of tasks --json writes what is certified")
    if outputs.json is not None and not is_of_tasks:
        checker, named = map(shlex.quote, (check_trials.__file__, str(log)))
        proof = f"jaxcert verify {named}, or python {checker} {named}"
        raise ValueError(f"{log}: --json is for tasks; of pairs the log is the proof: {proof}")
    outputs.write(
        document=lambda: certificate_document(trial_records(found)),
        on_page=[log.name, *found.declared.labels, *getattr(found.declared, "policies", ())],
        axes=lambda: plot_pairs(found),
        page=lambda path, **how: write_pairs(
            path, found, **{**how, "verify_command": checked, **_trial_texts.on_page(found)}
        ),
    )
    if not outputs.to_stdout:
        _console.say(*_trial_texts.standing(found))
