"""The command line run inside the test's process: its exit status and both streams."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.cli import run

ROOT = Path(__file__).parents[1]


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


def said(*arguments: object) -> str:
    """What a command prints that succeeds, without a word on stderr."""
    status, out, err = command(*arguments)
    assert (status, err) == (0, "")
    return out


def as_process(*arguments: object, **settings: Any) -> Outcome:
    """Run `python -m jaxcert` with these arguments as a process of its own."""
    line = [sys.executable, "-m", "jaxcert", *map(str, arguments)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, **settings)
    return Outcome(done.returncode, done.stdout, done.stderr)


def interrupted(patch: Any, module: Any, name: str, at: int) -> list[None]:
    """Let a call of a function of a module end as by Ctrl-C; gives a list that grows with every call."""
    function, calls = getattr(module, name), []

    def called(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        if len(calls) == at:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    patch.setattr(module, name, called)
    return calls
