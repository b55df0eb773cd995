"""The command line run inside the test's process: its exit status and both streams."""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.cli import run

ROOT = Path(__file__).parents[1]
# Of 40 tasks with 20 rollouts each, in [0, 1].
RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)


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


_SIGNS = {"->": 0, "~>": 0, "!>": 1, "=>": 2, None: 0}


def session(script: str, **short: str) -> str:
    """Run commands as they are typed, one in a line, and look for parts of what is said, up to its line breaks.

    ``words => part | part``: it is refused, in one line that has these parts; ``->``: it succeeds, without a word on
    stderr; ``~>``, or nothing: it succeeds, with warnings; ``!>``: its exit status is 1. ``^part`` stands first, ``=
    part`` is all, ``!part`` stands nowhere. ``short``: what words stand for. Returns what was said last.
    """
    told = ""
    for line in filter(None, map(str.strip, script.splitlines())):
        words, sign, parts = re.fullmatch(r"(.*?)(?: ([-~!=]>)(?: (.*))?)?", line).groups()
        for name, text in short.items():
            words = re.sub(rf"\b{name}\b", lambda _, text=text: text, words)
        status, out, err = command(*shlex.split(words))
        assert status == _SIGNS[sign], (line, out, err)
        assert sign != "->" or err == "", (line, err)
        assert sign != "=>" or (out == "" and err.startswith("error: ") and err.count("\n") == 1), (line, out, err)
        told = out + err
        for part in (parts or "").split(" | "):
            check_part(part, told, line)
    return told


def check_part(part: str, told: str, line: str) -> None:
    """One part of a line of a session."""
    kind, wanted = (part[:1], part[1:].strip()) if part[:1] in ("^", "=", "!") else ("", part)
    flat = " ".join(told.split())
    found = {
        "^": flat.startswith(wanted),
        "=": flat == wanted,
        "!": wanted not in flat,
        "": wanted in told or wanted in flat,
    }
    assert found[kind], (line, part, told)


def table(path: str | Path, header: str, rows: Iterable[Iterable[object]]) -> Path:
    """A table in CSV."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))
    return Path(path)


def lines_of(path: str | Path, rows: Iterable[object]) -> Path:
    """Lines of JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return Path(path)


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
