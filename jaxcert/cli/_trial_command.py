"""`jaxcert trial`: an experiment trial by trial, as with a robot, recorded in a log."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert._files import check_suffix, content_of
from jaxcert.cli import _console
from jaxcert.cli._adaptive_rollout import check_archive_path
from jaxcert.cli._options import several
from jaxcert.cli._outputs import Force, Json, Witness, check_outputs, check_witness, writing
from jaxcert.cli._run import SCHEDULES_NAMED
from jaxcert.cli._trial_texts import beginning, progress_of, standing
from jaxcert.cli._typed import refuse_both
from jaxcert.report import write_certificates
from jaxcert.report._trial_records import trial_records, witnessed_trials
from jaxcert.rollouts import Trials, save_adaptive

trial = typer.Typer(
    help="Certify trial by trial, as with a robot: declare, record, and stop whenever you like. The tasks are drawn at "
    "random from those that new ones come from; of a fixed list, make as many trials of each, and then "
    "`jaxcert certify FILE --suite`."
)
# More than anybody tries by hand: a slip of the pen.
_MOST_TASKS = 10_000
Log = Annotated[Path, typer.Argument(metavar="LOG", help="The log of `jaxcert trial start`.")]


@trial.command("start")
def start_trials(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The file, .jsonl; one that exists is kept.")],
    threshold: Annotated[list[Any], several("X", "Performance to certify")],
    delta: Annotated[float, typer.Option(metavar="D", help="Failure probability of each threshold's certificate.")],
    tasks: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Labels of the tasks; or their number, for 0, 1, ...")
    ] = None,
    tasks_file: Annotated[Path | None, typer.Option(metavar="FILE", help="The labels, one in each line.")] = None,
    successes: Annotated[bool, typer.Option("--successes", help="A trial succeeds or fails.")] = False,
    support: Annotated[
        tuple[float, float] | None, typer.Option(metavar="A B", help="Smallest and largest possible score.")
    ] = None,
    beta: Annotated[
        float, typer.Option(metavar="P", help="Probability with which a task below a threshold may pass.")
    ] = 0.05,
    give_up: Annotated[
        float | None,
        typer.Option(metavar="W", help="Leave a task when its evidence falls below this; by default 0.5, or 0.1."),
    ] = None,
    max_trials: Annotated[
        int | None, typer.Option(metavar="M", help="Leave a task after so many; for successes by default 100.")
    ] = None,
    schedule: Annotated[
        str, typer.Option(metavar="NAME", help=f"Which task `next` advises: one of {SCHEDULES_NAMED}.")
    ] = "closest",
) -> None:
    """Declare an experiment in LOG, before its first trial.

    Its tasks are drawn at random from those that new ones come from. A fixed list has another command, which is named.
    """
    check_suffix(log, [".jsonl"])
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
    _say(beginning(found))


@trial.command("add")
def add_trial(
    log: Log,
    task: Annotated[str, typer.Option(metavar="LABEL", help="The task that was tried.")],
    success: Annotated[
        bool | None, typer.Option("--success/--failure", help="Whether it succeeded; one that broke off has failed.")
    ] = None,
    score: Annotated[
        float | None,
        typer.Option(metavar="X", help="Its score, where scores were declared; the worst if it broke off."),
    ] = None,
) -> None:
    """Record a trial in LOG; it is on the disk when the command ends."""
    refuse_both("--success", "--failure")
    given = [value for value in (success, score) if value is not None]
    with _console.warnings_on_stderr():
        found = Trials(log)
        if len(given) != 1:
            raise ValueError(f"expected one of --success, --failure and --score, for {found.declared.wanted}")
        found.add(task, given[0])
    _say([progress_of(found, task)])


@trial.command("undo")
def undo_trial(
    log: Log,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which must not be how the trial went.")],
) -> None:
    """Withdraw the last trial in LOG; it stays there, with the reason, and does not count."""
    with _console.warnings_on_stderr():
        found = Trials(log)
        gone = found.undo(why)
    label = found.declared.tasks[gone.task]
    _say([f"withdrawn: trial {gone.number}, of {label}; {len(found.withdrawn)} in all", progress_of(found, label)])


@trial.command("next")
def next_task(log: Log) -> None:
    """Print the label of the task that LOG advises to try next; nothing, with exit status 1, if all are decided."""
    with _console.warnings_on_stderr():
        label = Trials(log).next_task()
    if label is None:
        raise typer.Exit(1)
    _say([label])


@trial.command("status")
def trial_status(
    log: Log,
    json: Json = None,
    witness: Witness = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the trials that count there (.npz), as `jaxcert rollout` does."),
    ] = None,
    force: Force = False,
) -> None:
    """Say how far LOG is, and what is certified so far."""
    if out is not None:
        check_archive_path(out)
    check_outputs([("LOG", log)], ("--json", json), ("--out", out), force=force)
    check_witness(witness, json)
    with _console.warnings_on_stderr():
        found = Trials(log)
    records = trial_records(found)
    with writing() as write:
        if json is not None:
            with _console.warnings_on_stderr():
                held = witnessed_trials(log) if witness else records
            write(write_certificates, json, held, replace=force)
        if out is not None:
            write(save_adaptive, out, found.run(), facts=records[0]["rollouts"], replace=force)
    for part in standing(found):
        _console.output().print(part)


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


def _say(lines: list[str]) -> None:
    _console.output().print("\n".join(lines))
