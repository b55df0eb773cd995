"""`jaxcert verify`: a certificate file, computed again from the returns."""

from pathlib import Path
from typing import Annotated

import typer

from jaxcert.cli import _console
from jaxcert.cli._options import EpisodeColumn, Quiet, TaskColumn, ValueColumn
from jaxcert.report import verify


def verify_file(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="File of `jaxcert certify --json`.")],
    returns: Annotated[Path, typer.Argument(metavar="RETURNS", help="The file of returns.")],
    other: Annotated[
        Path | None,
        typer.Argument(metavar="[OTHER]", help="For a comparison: the returns of policy B.", show_default=False),
    ] = None,
    protocol: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The protocol that the certificate has to name.")
    ] = None,
    task_column: TaskColumn = None,
    episode_column: EpisodeColumn = None,
    value_column: ValueColumn = None,
    quiet: Quiet = False,
) -> None:
    """Compute CERTIFICATE again from RETURNS and say what differs; the exit status is 1 if anything does.

    This finds what was altered. It cannot find a forgery: whoever makes up returns can certify them. It reads the
    columns that CERTIFICATE records.
    """
    columns = {"task": task_column, "episode": episode_column, "value": value_column}
    with _console.progress(quiet) as show:
        show("computing")
        found = verify(certificate, returns, others=[] if other is None else [other], protocol=protocol, **columns)
    _console.output().print(str(found))
    if not found.ok:
        raise typer.Exit(1)
