"""`jaxcert monitor`: whether a certificate still holds, episode by episode from standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from jaxcert.cli import _console
from jaxcert.cli._options import argument, flag, option, with_group
from jaxcert.cli._outputs import Force, check_outputs, write_plot
from jaxcert.cli._role_options import TaskRole, ValueRole, columns_in, reading_of
from jaxcert.cli._watched import Wished, feed, has_reached, opened
from jaxcert.report import plot_evidence, read_certificate


@with_group("wished", Wished)
def command(
    state: Annotated[Path, option("FILE", "File of the monitor, created if missing.")],
    certificate: Annotated[
        Path | None, argument("[CERTIFICATE]", "File of `jaxcert certify --json`, to begin.")
    ] = None,
    complete: Annotated[bool, flag("Declare that each return is one of a whole episode.", "--complete")] = False,
    change: Annotated[bool, flag("Exit with 1 for a change at an unknown time, not the alarm.", "--change")] = False,
    rows: Annotated[bool, flag("Print each task once it is on the disk; the sentence on stderr.", "--rows")] = False,
    plot: Annotated[Path | None, option("FILE", "Draw the evidence there.")] = None,
    task: TaskRole = None,
    value: ValueRole = None,
    force: Force = False,
    *,
    wished: Wished,
) -> None:
    """Add episodes from standard input to a monitor, and say whether the certificate still holds.

    The input is CSV with a header, or lines of JSON, tasks in the order in which they arrived. The exit status is 0
    without an alarm, also if no episode was read, 1 with one, 2 for an error. Tasks that are sent again count once.
    Options of a monitor that has begun are fixed: they may be given again, and others are refused.
    """
    check_outputs([("CERTIFICATE", certificate), ("--state", state)], ("--plot", plot), force=force)
    with _console.warnings_on_stderr():
        watching = opened(state, certificate, wished, complete=complete)
        certified = {} if certificate is None else read_certificate(certificate)["certificates"][0].get("data") or {}
    columns = {**columns_in(reading_of({"task": task, "value": value})), "trial": None}
    said, is_whole = sys.stderr if rows else sys.stdout, False
    try:
        feed(watching, columns, certified, rows=rows)
        is_whole = True
    finally:
        if plot is not None:
            write_plot(plot, plot_evidence(watching.rows, alpha=watching.declared.alpha), replace=force)
        # What ends in the middle of a task must not hide an alarm.
        if is_whole or has_reached(watching, change=change):
            print(watching, file=said)
    if has_reached(watching, change=change):
        raise typer.Exit(1)
