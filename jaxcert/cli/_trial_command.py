"""`jaxcert trial`: an experiment trial by trial, as with a robot, recorded in a log."""

from pathlib import Path
from typing import Annotated

import typer

from jaxcert.cli import _console
from jaxcert.cli._adaptive_rollout import check_archive_path
from jaxcert.cli._options import argument, flag, option
from jaxcert.cli._outputs import Force, Json, Witness, check_outputs, check_witness, writing
from jaxcert.cli._trial_start import start_trials, texts_of
from jaxcert.cli._typed import refuse_both
from jaxcert.report import write_certificates
from jaxcert.report._exact_check import proof_command
from jaxcert.report._run_record import trial_records, witnessed_trials
from jaxcert.rollouts import PairedTrials, Trials, save_adaptive
from jaxcert.rollouts._paired_trials import open_trials
from jaxcert.rollouts._single_trial import outcomes_of

group = typer.Typer()
group.command("start")(start_trials)
Log = Annotated[Path, argument("LOG", "The log of `jaxcert trial start`.")]


@group.callback()
def command() -> None:
    """Certify trial by trial, as with a robot: declare, record, and stop whenever you like. Tasks are drawn at
    random from the distribution of new tasks. For a fixed list, run equally many trials of each task, then `jaxcert
    certify FILE --suite`. Two policies are tried in pairs, until one is shown to be better.
    """


@group.command("add")
def add_trial(
    log: Log,
    label: Annotated[str, option("LABEL", "The task that was tried; in pairs, the policy.", "--task", "--policy")],
    success: Annotated[bool | None, flag("Its outcome; one that broke off has failed.", "--success/--failure")] = None,
    score: Annotated[float | None, option("X", "Its score, where declared; the worst if it broke off.")] = None,
) -> None:
    """Record a trial in LOG; it is on the disk when the command ends."""
    refuse_both("--success", "--failure")
    given = [value for value in (success, score) if value is not None]
    with _console.warnings_on_stderr():
        found = open_trials(log)
        if len(given) != 1:
            wanted = outcomes_of(found.declared.successes, found.declared.support)
            raise ValueError(f"expected one of --success, --failure and --score, for {wanted}")
        found.add(label, given[0])
    _console.say(texts_of(found).progress(found, label))


@group.command("undo")
def undo_trial(
    log: Log, why: Annotated[str, option("TEXT", "The reason, which must not be how the trial went.")]
) -> None:
    """Withdraw the last trial in LOG; it stays there, with the reason, and does not count."""
    with _console.warnings_on_stderr():
        found = open_trials(log)
        gone = found.undo(why)
    label = found.declared.labels[gone.task]
    told = f"withdrawn: trial {gone.number}, of {label}; {len(found.withdrawn)} in all"
    _console.say(told, texts_of(found).progress(found, label))


@group.command("next")
def next_task(log: Log) -> None:
    """Print the label of the task or policy that LOG advises to try next; nothing, with exit status 1, at the end."""
    with _console.warnings_on_stderr():
        label = open_trials(log).next_label()
    if label is None:
        raise typer.Exit(1)
    _console.say(label)


@group.command("status")
def trial_status(
    log: Log,
    json: Json = None,
    witness: Witness = False,
    out: Annotated[Path | None, option("FILE", "Write the trials that count (.npz), like `jaxcert rollout`.")] = None,
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
    else:
        _write_files(found, json, out, witness=witness, force=force)
    _console.say(*texts_of(found).standing(found))


def _write_files(trials: Trials, json: Path | None, out: Path | None, *, witness: bool, force: bool) -> None:
    """Write the certificate, and the trials that count."""
    records = trial_records(trials)
    with writing() as write:
        if json is not None:
            with _console.warnings_on_stderr():
                held = witnessed_trials(trials.path) if witness else records
            write(write_certificates, json, held, replace=force)
        if out is not None:
            write(save_adaptive, out, trials.run(), facts=records[0]["rollouts"], replace=force)


def _refuse_files(log: Path, json: Path | None, out: Path | None) -> None:
    """Raise ValueError if files are wanted of pairs, whose log is the proof."""
    if json is not None or out is not None:
        raise ValueError(f"{log}: --json and --out are for tasks; of pairs the log is the proof: {proof_command(log)}")
