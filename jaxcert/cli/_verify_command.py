"""`jaxcert verify`: a certificate file, computed again from the returns."""

from pathlib import Path

import typer

from jaxcert.cli import _console
from jaxcert.cli._options import argument, flag, option
from jaxcert.report import check_certificate, check_exactly, check_trials, verify


def command(
    certificate: Path = argument("CERTIFICATE", "File of `jaxcert certify --json`; alone, a log of policies in pairs."),
    returns: Path | None = argument(
        "[RETURNS]", "The file of returns; with --exact, also a log of trials.", default=None
    ),
    others: list[Path] | None = argument(
        "[OTHER]...",
        "For a comparison: the returns of policy B, if not in the same table. For weighted tasks, at last: "
        "the weights.",
        default=None,
    ),
    protocol: Path | None = option("FILE", "The protocol that the certificate has to name."),
    exact: bool = flag(
        "Check the witnesses (`--witness`) in exact arithmetic, in place of computing again.", "--exact"
    ),
) -> None:
    """Compute CERTIFICATE again from RETURNS and say what differs; the exit status is 1 if anything does.

    This finds what was altered. It cannot find a forgery: whoever makes up returns can certify them. It reads the
    columns that CERTIFICATE records. A log of `jaxcert trial start --policies` is its own proof, checked in exact
    arithmetic.
    """
    if returns is None:
        if certificate.suffix != ".jsonl":
            raise ValueError("expected RETURNS as well, the file that CERTIFICATE is of")
        raise typer.Exit(check_trials.main_of_pairs(str(certificate)))
    if exact:
        if others or protocol is not None:
            raise ValueError("--exact takes one CERTIFICATE and RETURNS; protocols and policy B are checked without it")
        _check_exactly(certificate, returns)
        return
    found = verify(certificate, returns, others=others or [], protocol=protocol)
    _console.say(str(found))
    if not found.ok:
        raise typer.Exit(1)


def _check_exactly(certificate: Path, returns: Path) -> None:
    """Print which rows are proven, and what remains to be believed."""
    verdicts = [(holds, words) for holds, words in check_exactly(certificate, returns) if holds is not None]
    _console.say(*(words for _, words in verdicts))
    if any(holds for holds, _ in verdicts):
        _console.say(check_certificate.BELIEVED)
    if not all(holds for holds, _ in verdicts):
        raise typer.Exit(1)
