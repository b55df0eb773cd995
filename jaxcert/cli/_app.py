"""The commands, and their exit statuses."""

import sys
from collections.abc import Sequence
from typing import Annotated, cast

import typer

import jaxcert
from jaxcert._files import unreadable
from jaxcert.cli import (
    _certify_command,
    _choose_command,
    _compare_command,
    _console,
    _demo_command,
    _lock_command,
    _monitor_command,
    _plan_command,
    _rollout_command,
    _sweep_command,
    _trial_command,
    _verify_command,
)
from jaxcert.cli._typed import as_read, remember, usage_told

_app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_app.command("certify")(_certify_command.certify_file)
_app.command("choose")(_choose_command.choose)
_app.command("compare")(_compare_command.compare_files)
_app.command("verify")(_verify_command.verify_file)
_app.command("plan")(_plan_command.plan_file)
_app.command("monitor")(_monitor_command.monitor)
_app.command("lock")(_lock_command.lock_protocol)
_app.command("demo")(_demo_command.demo)
_app.command("sweep")(_sweep_command.sweep_file)
_app.command("rollout")(_rollout_command.rollout)
_app.add_typer(_trial_command.trial, name="trial")

# Usage errors of typer share a base class with BadParameter, whose module differs between releases.
_UsageError = cast(
    type[Exception], next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
)


def execute(arguments: Sequence[str]) -> int:
    """Run one command; every expected failure becomes one line on stderr and an exit status."""
    remember(arguments)
    try:
        # Help, version and an interruption come back as an exit status, a finished command as None.
        status = _app(as_read(arguments) or ["--help"], prog_name="jaxcert", standalone_mode=False) or 0
    except _UsageError as error:
        return _fail(usage_told(error, arguments), 2)
    except ImportError as error:
        return _fail(str(error), 1)
    except OSError as error:
        return _fail(str(error if error.filename is None else unreadable(error.filename, error)), 2)
    except ValueError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    return _fail("interrupted", 130) if status == 130 else status


def _fail(message: str, status: int) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return status


def _version(wanted: bool) -> None:
    if wanted:
        print(f"jaxcert {jaxcert.__version__}")
        raise typer.Exit


@_app.callback()
def _main(
    context: typer.Context,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep compiled programs in the user's cache folder.")
    ] = True,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Certify the performance of a fixed policy on new tasks from the same distribution."""
    if cache:
        context.with_resource(_console.compiled_programs())
