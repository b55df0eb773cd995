"""Arguments, commands and exit statuses."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

import jaxcert
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS
from jaxcert.cli import (
    _cache,
    _certify_command,
    _demo_command,
    _policies,
    _render_command,
    _rollout_command,
    _sweep_command,
    _train_command,
)

_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

# Usage errors of typer share a base class with BadParameter, whose module differs between releases.
_UsageError = cast(
    type[Exception], next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
)

_Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a file in which some tasks have fewer rollouts than others. A task "
        "without any row cannot be noticed.",
    ),
]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]
_BOUNDS = [f"{bound.name} (0/1 returns)" if bound.binary else bound.name for bound in BOUNDS.values()]


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
        context.with_resource(_cache.compiled_programs())


@_app.command("certify")
def _certify(
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
        typer.Option("--safety", metavar="S", help="Share of new tasks to certify a performance for (repeatable)."),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            "--beta",
            metavar="P",
            help="Failure probability of one task's lower bound. By default 0.05 for thresholds, what costs nothing "
            "for safeties, delta / num_tasks with scenario.",
        ),
    ] = None,
    bound: Annotated[str, typer.Option("--bound", help=f"One of {', '.join(_BOUNDS)}.")] = "betting",
    method: Annotated[str, typer.Option("--method", help=f"One of {', '.join(METHODS)}.")] = "binomial",
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the result there.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw certified safety there (.png, .svg, .pdf).")
    ] = None,
    strict: _Strict = False,
    quiet: _Quiet = False,
) -> None:
    """Certify the returns in FILE."""
    settings = _certify_command.Settings(support=support, delta=delta, beta=beta, bound=bound, method=method)
    request = _certify_command.Request(file, threshold or [], safety or [], json, plot, strict)
    _certify_command.certify_file(request, settings, quiet=quiet)


@_app.command("demo")
def _demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the plots.")] = Path("jaxcert-demo"),
    quiet: _Quiet = False,
) -> None:
    """Certify an example with a known answer, then two trained policies, each in two ways."""
    _demo_command.demo(out, quiet=quiet)


@_app.command("sweep")
def _sweep(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file with the tables [data], [grid], [run].")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the sweep in the folder given by [run] checkpoint.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the number of certificates and bytes, and stop.")
    ] = False,
    strict: _Strict = False,
    quiet: _Quiet = False,
) -> None:
    """Certify every combination of the settings in CONFIG, for every seed."""
    _sweep_command.sweep_file(config, resume=resume, dry_run=dry_run, strict=strict, quiet=quiet)


@_app.command("train")
def _train(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help=f"{', '.join(_policies.trainable())}.")],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for checkpoints; training resumes from those in it."),
    ],
    settings: Annotated[
        str | None,
        typer.Option(
            "--settings",
            metavar="NAME",
            help="Settings of PPO: paper (60 million steps), small (for a machine without a GPU) or pendulum; by"
            " default those of the paper, or the pendulum's.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, metavar="N", help="Steps of the environment.")] = None,
    checkpoints: Annotated[
        int | None,
        typer.Option("--checkpoints", min=2, metavar="C", help="Number of checkpoints, the first before training."),
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", metavar="R", help="Overrides that of the settings.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31, metavar="S", help="Of training.")] = 0,
    authors_version: Annotated[
        bool, typer.Option("--authors-version", help="The environment of the paper's authors, with its faults.")
    ] = False,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", metavar="X", help="Certify this return at every checkpoint (repeatable)."),
    ] = None,
    safety: Annotated[
        list[float] | None,
        typer.Option("--safety", metavar="S", help="Certify a return on this share of new tasks (repeatable)."),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1, metavar="N", help="Tasks of each certificate.")] = 100,
    rollouts: Annotated[int, typer.Option("--rollouts", min=1, metavar="M", help="Rollouts of each task.")] = 10,
    delta: Annotated[
        float, typer.Option("--delta", metavar="D", help="Failure probability of all checkpoints together.")
    ] = 0.01,
    until: Annotated[
        float | None,
        typer.Option("--until", metavar="S", help="Stop once the first threshold is certified on this share."),
    ] = None,
    quiet: _Quiet = False,
) -> None:
    """Train a policy with Brax's PPO, with checkpoints and, on request, a certificate at each of them."""
    changes = {"num_timesteps": steps, "num_evals": checkpoints, "learning_rate": learning_rate, "seed": seed}
    request = _train_command.Request(environment, out, settings, changes, authors_version)
    certified = _train_command.Certified(threshold or [], safety or [], tasks, rollouts, delta, until)
    _train_command.train_policy(request, certified, quiet=quiet)


_CHECKPOINT = "A folder of `jaxcert train` (its last checkpoint), one checkpoint of it, or a policy file (.npz); or a"
_CHECKPOINT += " policy shipped with the package: "


@_app.command("rollout")
def _rollout(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help=f"{_CHECKPOINT}{', '.join(_policies.shipped())}.")
    ],
    tasks: Annotated[int, typer.Option("--tasks", min=1, metavar="N", help="Number of tasks.")],
    rollouts: Annotated[int, typer.Option("--rollouts", min=1, metavar="M", help="Rollouts of each task.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the returns (.parquet or .npz).")],
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**32 - 1, metavar="S", help="Seed for the sampling; by default a new one."),
    ] = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Sample actions instead of taking the mode of their distribution.")
    ] = False,
    quiet: _Quiet = False,
) -> None:
    """Run a policy on new tasks, and write its returns; the same command resumes an interrupted run."""
    _rollout_command.rollout(
        checkpoint,
        out,
        num_tasks=tasks,
        num_rollouts=rollouts,
        seed=seed,
        deterministic=not stochastic,
        quiet=quiet,
    )


@_app.command("render")
def _render(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=f"{_CHECKPOINT}cheetah, walker.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The video (.gif or .mp4).")],
    mass: Annotated[float, typer.Option("--mass", metavar="X", help="Multiple of all masses.")] = 1.0,
    size: Annotated[float, typer.Option("--size", metavar="X", help="Multiple of the torso's length.")] = 1.0,
    steps: Annotated[int, typer.Option("--steps", min=1, metavar="N", help="Length of the episode.")] = 300,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, metavar="S", help="Seed of the episode.")] = 0,
    quiet: _Quiet = False,
) -> None:
    """Draw an episode of the cheetah or the walker."""
    _render_command.render_policy(checkpoint, out, mass=mass, size=size, num_steps=steps, seed=seed, quiet=quiet)
