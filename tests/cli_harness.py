"""The command line inside the test's own process: the exit status and both streams."""

import contextlib
import io
from typing import NamedTuple

from jaxcert.cli import run


class Outcome(NamedTuple):
    """What a command left behind."""

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
    """Run a command that must be refused, and give its one line."""
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err
