"""The command line run inside the test's process: its exit status and both streams."""

import contextlib
import io
from typing import NamedTuple

from jaxcert.cli import run


class Outcome(NamedTuple):
    """The result of a command."""

    status: int
    out: str
    err: str


def command(*arguments: object) -> Outcome:
    """Run `jaxcert` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run([str(argument) for argument in arguments])
    return Outcome(status, out.getvalue(), err.getvalue())


def refused(*arguments: object) -> str:
    """Run a command that must fail, and return its one-line message."""
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err
