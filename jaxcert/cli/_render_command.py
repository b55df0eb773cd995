"""`jaxcert render`: a video of a policy on one task, or a picture of several episodes."""

from pathlib import Path
from typing import Annotated, Any

import jax
import typer

from jaxcert._files import check_suffix
from jaxcert.cli import _console, _policies
from jaxcert.cli._options import CHECKPOINT, Quiet, Stochastic
from jaxcert.cli._outputs import Force, check_distinct, check_new
from jaxcert.report import check_figure_path, save_figure
from jaxcert.rollouts import MultiTaskEnv
from jaxcert.tasks._pictures import Pictures
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.tasks._video import SUFFIXES, check_video_path

_FIGURES = (".pdf", ".png", ".svg")


def render_policy(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=f"{CHECKPOINT}cheetah, walker, zones.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The video (.gif or .mp4); for zones also a picture of six episodes.")
    ],
    mass: Annotated[
        float | None, typer.Option(metavar="X", help="Robots: multiple of all masses, by default 1.")
    ] = None,
    size: Annotated[
        float | None, typer.Option(metavar="X", help="Robots: multiple of the torso's length, by default 1.")
    ] = None,
    formula: Annotated[
        str | None, typer.Option(metavar="TEXT", help='Zones: the task, as "!red U (green & F yellow)"; else random.')
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Robots: length of the video in steps, by default 300. Zones: end an episode after N steps, if it has"
            " not ended before. At most the length of an episode, 1000.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="Seed of task and episode.")] = 0,
    stochastic: Stochastic = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw an episode of the cheetah or the walker, or episodes in zones."""
    found = _policies.find(checkpoint, deterministic=not stochastic)
    pictures = _pictures(found.env.name)
    _check_steps(steps, found.env)
    is_video = _check_path(out, pictures)
    check_distinct(("CHECKPOINT", found.file), ("--out", out))
    check_new(out, force=force)
    given = {"mass": mass, "size": size, "formula": formula}
    key = jax.random.key(seed)
    task = pictures.task(found.env, key, **_belonging(given, found.env.name, pictures))
    with _console.progress(quiet) as show:
        show("rendering")
        if is_video:
            pictures.video(out, found.env, found.policy, task, key, steps, replace=force)
        elif pictures.figure:
            save_figure(out, pictures.figure(found.env, found.policy, task, key, steps), replace=force)
    kind = ", stochastic" if stochastic else ""
    _console.output().print(f"{found.source}{kind}, {pictures.describe(task)}: written to {out}")


def _pictures(environment: str) -> Pictures:
    pictures = ENVIRONMENTS[environment].pictures
    if pictures is None:
        having = [name for name, entry in ENVIRONMENTS.items() if entry.pictures]
        raise ValueError(f"{environment} has no pictures; expected a policy for one of {', '.join(having)}")
    return pictures


def _check_steps(steps: int | None, env: MultiTaskEnv) -> None:
    if steps is not None and steps > env.episode_length:
        raise ValueError(f"--steps is {steps}; expected at most {env.episode_length}, an episode of {env.name}")


def _check_path(out: Path, pictures: Pictures) -> bool:
    """Whether it is a video; raises for a file that cannot be written."""
    is_video = check_suffix(out, (*SUFFIXES, *(_FIGURES if pictures.figure else ()))) in SUFFIXES
    if is_video:
        check_video_path(out, pictures.extra)
    else:
        check_figure_path(out)
    return is_video


def _belonging(given: dict[str, Any], environment: str, pictures: Pictures) -> dict[str, Any]:
    """The options that are given, if the environment has them."""
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen.keys() - set(pictures.options):
        expected = " and ".join(f"--{option}" for option in pictures.options)
        raise ValueError(f"--{name} does not belong to {environment}, whose tasks have {expected}")
    return chosen
