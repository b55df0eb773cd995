"""The command line, and errors in words."""

import gc
import os
import sys
from collections.abc import Sequence

from jaxcert._extras import import_extra

__all__ = ["main", "run"]

_INTERRUPTED = 130


def main() -> int:
    """Run the process's own arguments; the entry point of the command `jaxcert`."""
    # A process that ends soon need not look for cycles: while modules are imported that takes a fifth of the time.
    gc.set_threshold(500_000)
    status = run(sys.argv[1:])
    if status == _INTERRUPTED:
        # After an interrupted compilation XLA crashes at the interpreter's shutdown, so skip it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def run(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments, without the program's name, and return its exit status.

    0: done. 1: a package of an extra is missing, or the answer is no: less is certified than required, a file is not
    verified, an alarm is raised, no trial is left. 2: bad input or usage. 130: interrupted. Every failure is one line
    on stderr, and no file is left half written.

    Example:
        >>> run(["certify", "returns.npz"])
        2
    """
    try:
        import_extra("typer", "cli")
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    from jaxcert.cli._app import execute

    return execute(arguments)
