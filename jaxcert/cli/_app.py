"""Arguments, commands and exit statuses."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import jaxcert
from jaxcert.cli import _certify, _demo, _sweep

_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

# Every usage error of typer is a relative of BadParameter; where their common class lives differs between releases.
_UsageError = cast(
    type[Exception], next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
)

_Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]


def execute(arguments: Sequence[str]) -> int:
    """Run one command; every expected failure becomes one line on stderr and an exit status."""
    try:
        # Help, version and an interruption come back as an exit status, a finished command as None.
        status = _app(list(arguments) or ["--help"], prog_name="jaxcert", standalone_mode=False) or 0
    except _UsageError as error:
        return _fail(cast(Any, error).format_message(), 2)
    except ImportError as error:
        return _fail(str(error), 1)
    except (ValueError, OSError) as error:
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
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Certify the performance of a fixed policy on new tasks from the same distribution."""


@_app.command("certify")
def _certify_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=".npz with an array 'returns' [num_tasks, num_rollouts] (and a boolean array 'where'), or .parquet or"
            " .csv with the columns task_id, episode_id, total_return.",
        ),
    ],
    support: Annotated[
        tuple[float, float],
        typer.Option("--support", metavar="A B", help="Smallest and largest possible return, known in advance."),
    ],
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="Failure probability of the certificate.")],
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", metavar="X", help="Performance to certify (repeatable); without any, the curve."),
    ] = None,
    safety: Annotated[
        list[float] | None,
        typer.Option("--safety", metavar="S", help="Share of new tasks to certify a performance on (repeatable)."),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            "--beta",
            metavar="P",
            help="Failure probability of one task's lower bound; 0.05 by default, delta / num_tasks with scenario.",
        ),
    ] = None,
    bound: Annotated[
        str,
        typer.Option("--bound", help="betting, empirical_bernstein, hoeffding, dkw, or clopper_pearson (0/1 returns)."),
    ] = "betting",
    method: Annotated[str, typer.Option("--method", help="binomial or scenario.")] = "binomial",
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result there.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw certified safety there (.png, .svg, .pdf).")
    ] = None,
    quiet: _Quiet = False,
) -> None:
    """Certify the returns in FILE."""
    settings = _certify.Settings(support=support, delta=delta, beta=beta, bound=bound, method=method)
    request = _certify.Request(file, threshold or [], safety or [], json, plot)
    _certify.certify_file(request, settings, quiet=quiet)


@_app.command("demo")
def _demo_command(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the plots.")] = Path("jaxcert-demo"),
    quiet: _Quiet = False,
) -> None:
    """Certify an example with a known answer, then two trained policies, each in two ways."""
    _demo.demo(out, quiet=quiet)


@_app.command("sweep")
def _sweep_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file with the tables [data], [grid], [run].")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the sweep in the folder that [run] checkpoint names.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many certificates and bytes it would be, and stop.")
    ] = False,
    quiet: _Quiet = False,
) -> None:
    """Certify every combination of the settings in CONFIG, for every seed."""
    _sweep.sweep_file(config, resume=resume, dry_run=dry_run, quiet=quiet)
