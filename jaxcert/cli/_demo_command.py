"""`jaxcert demo`: the first commands of a new user, on shipped returns of trained policies."""

import shlex
from pathlib import Path

import typer

import jaxcert
from jaxcert.cli import _console, run
from jaxcert.cli._options import option
from jaxcert.tables import write_returns

POLICIES = ("cheetah", "walker")
_SETTINGS = "--support 0 1000 --delta 0.01"
# Each certifies what was fixed beforehand, and writes the files that it names.
COMMANDS = (
    f"certify cheetah.npz --threshold 300,500 {_SETTINGS} --json cheetah.json --report cheetah.html",
    "verify cheetah.json cheetah.npz",
    f"certify walker.npz --safety 0.9 {_SETTINGS} --plot walker.png",
)
FILES = ("cheetah.npz", "walker.npz", "cheetah.json", "cheetah.html", "walker.png")


def command(out: Path = option("DIR", "New folder for the files.", default=Path("jaxcert-demo"))) -> None:
    """Certify returns of two trained policies, verify a certificate, and show each command with what it says."""
    if out.exists():
        raise ValueError(f"{out}: exists; expected a new folder for the files")
    out.mkdir()
    for name in POLICIES:
        write_returns(out / f"{name}.npz", jaxcert.sample_returns(name))
    for words in COMMANDS:
        arguments = [str(out / word) if word in FILES else word for word in shlex.split(words)]
        _console.say(f"$ {shlex.join(['jaxcert', *arguments])}")
        if status := run(arguments):
            raise typer.Exit(status)
        _console.say("")
