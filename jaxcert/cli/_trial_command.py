"""`jaxcert trial`: an experiment trial by trial, as with a robot, recorded in a log."""

from pathlib import Path
from typing import Annotated

import typer

from jaxcert.cli import _console
from jaxcert.cli._adaptive_rollout import check_archive_path
from jaxcert.cli._outputs import Force, Json, Witness, check_outputs, check_witness, writing
from jaxcert.cli._pair_texts import pair_of, standing_of_pairs
from jaxcert.cli._trial_start import start_trials
from jaxcert.cli._trial_texts import progress_of, standing
from jaxcert.cli._typed import refuse_both
from jaxcert.report import write_certificates
from jaxcert.report._run_record import trial_records, witnessed_trials
from jaxcert.rollouts import PairedTrials, Trials, save_adaptive
from jaxcert.rollouts._paired_trials import open_trials

trial = typer.Typer(
    help="Certify trial by trial, as with a robot: declare, record, and stop whenever you like. The tasks are drawn at "
    "random from those that new ones come from; of a fixed list, make as many trials of each, and then "
    "`jaxcert certify FILE --suite`. Two policies are tried in pairs, until one is shown to be better."
)
trial.command("start")(start_trials)
Log = Annotated[Path, typer.Argument(metavar="LOG", help="The log of `jaxcert trial start`.")]


@trial.command("add")
def add_trial(
    log: Log,
    label: Annotated[
        str, typer.Option("--task", "--policy", metavar="LABEL", help="The task that was tried; in pairs, the policy.")
    ],
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
        found = open_trials(log)
        if len(given) != 1:
            raise ValueError(f"expected one of --success, --failure and --score, for {found.declared.outcomes.wanted}")
        found.add(label, given[0])
    _say([_progress(found, label)])


@trial.command("undo")
def undo_trial(
    log: Log,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which must not be how the trial went.")],
) -> None:
    """Withdraw the last trial in LOG; it stays there, with the reason, and does not count."""
    with _console.warnings_on_stderr():
        found = open_trials(log)
        gone = found.undo(why)
    label = found.declared.labels[gone.task]
    _say([f"withdrawn: trial {gone.number}, of {label}; {len(found.withdrawn)} in all", _progress(found, label)])


@trial.command("next")
def next_task(log: Log) -> None:
    """Print the label of the task or policy that LOG advises to try next; nothing, with exit status 1, at the end."""
    with _console.warnings_on_stderr():
        found = open_trials(log)
    label = found.next_policy() if isinstance(found, PairedTrials) else found.next_task()
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
        found = open_trials(log)
    if isinstance(found, PairedTrials):
        _refuse_files(log, json, out)
        _say(standing_of_pairs(found))
        return
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


def _say(lines: list[str]) -> None:
    _console.output().print("\n".join(lines))


def _progress(trials: Trials | PairedTrials, label: str) -> str:
    """One line after a trial."""
    return pair_of(trials) if isinstance(trials, PairedTrials) else progress_of(trials, label)


def _refuse_files(log: Path, json: Path | None, out: Path | None) -> None:
    """Raise ValueError if files are wanted of pairs, whose log is the proof."""
    if json is not None or out is not None:
        raise ValueError(
            f"{log}: --json and --out are for tasks; of pairs the log is the proof: python check_trials.py {log}"
        )
