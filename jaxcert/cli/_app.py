"""The commands and their files, as they were typed, and the exit statuses."""

import ast
import contextlib
import contextvars
import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

import jaxcert

# Each is the function `command` of its own module, which is imported, with JAX, when the command runs or prints help.
_COMMANDS = ("certify", "choose", "compare", "verify", "plan", "monitor", "lock", "demo", "trial")
_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
Named = tuple[str, Path | None]  # a file, and what the user calls it
_TYPED: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("typed", default=())


class _Commands(TyperGroup):
    """The commands. Listing them reads only the first words of each."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        code = ast.parse(Path(__file__).with_name(f"_{cmd_name}_command.py").read_text("utf-8"))
        functions = [each for each in code.body if isinstance(each, ast.FunctionDef)]
        (words,) = [ast.get_docstring(each) for each in functions if each.name == "command"]
        return TyperCommand(cmd_name, help=words)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and _imported(found.name or ""), rest


def _imported(name: str) -> Any:
    """A command with its options, or a group of commands."""
    module, alone = importlib.import_module(f"jaxcert.cli._{name}_command"), typer.Typer(**_SETTINGS)
    if hasattr(module, "group"):
        alone.add_typer(module.group, name=name)
    else:
        alone.command(name)(module.command)
    return typer.main.get_group(alone).commands[name]


_app = typer.Typer(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, **_SETTINGS)

# Usage errors of typer share a base class with BadParameter, whose module differs between releases.
_UsageError = cast(Any, next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"))


def execute(arguments: Sequence[str]) -> int:
    """Run one command; every expected failure becomes one line on stderr and an exit status."""
    _TYPED.set(tuple(arguments))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may contain any character
    try:
        # Help, version and an interruption come back as an exit status, a finished command as None.
        with _warnings_on_stderr():
            status = _app(list(arguments) or ["--help"], prog_name="jaxcert", standalone_mode=False) or 0
        sys.stdout.flush()
    except _UsageError as error:
        return _fail(error.format_message(), 2)
    except ImportError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:  # whoever reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        from jaxcert.tables._files import unreadable  # with JAX, which listing the commands does not need

        return _fail(str(error if error.filename is None else unreadable(error.filename, error)), 2)
    except ValueError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    return _fail("interrupted", 130) if status == 130 else status


@contextlib.contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Show each warning of the library as one line, once, after what the command says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for line in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        print(f"warning: {line}", file=sys.stderr)


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
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep compiled programs in a cache folder.")] = True,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Certify the performance of a fixed policy on new tasks from the same distribution."""
    if cache:
        from jaxcert.cli._program_cache import compiled_programs

        context.with_resource(compiled_programs())


# --- as typed --------------------------------------------------------------------------------------------------------


def refuse_both(*options: str) -> None:
    """Raise ValueError if several of these options were typed, since only the last would count."""
    given = typed_among(options)
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given; expected one of them")


def typed_among(options: Sequence[str]) -> list[str]:
    """The typed ones of these options."""
    names = {word.partition("=")[0] for word in _TYPED.get()}
    return [option for option in options if option in names]


def check_outputs(inputs: Iterable[Named], *outputs: Named, force: bool) -> None:
    """Raise ValueError for files that cannot be written, that exist, or that the command uses otherwise."""
    from jaxcert.tables._files import check_output  # with JAX, as each command that writes

    check_distinct(*inputs, *outputs)
    for path in (path for _, path in outputs if path is not None):
        check_output(path)
        if path.exists() and not force:
            raise ValueError(
                f"{path}: exists; expected a new file, or --force to replace it, as a job needs that runs again"
            )


def check_distinct(*named: Named) -> None:
    """Raise ValueError if two of the named files that a command reads or writes are the same."""
    seen: dict[Path, str] = {}
    for name, path in named:
        if path is not None and (other := seen.setdefault(path.resolve(), name)) != name:
            raise ValueError(f"{other} and {name} name the same file, expected different ones")
