"""`jaxcert render`: a video of a policy on one task."""

import math
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import typer

from jaxcert.cli import _console, _policies
from jaxcert.cli._options import CHECKPOINT, Quiet
from jaxcert.tasks.locomotion import Task, check_video_path, render


def render_policy(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=f"{CHECKPOINT}cheetah, walker.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The video (.gif or .mp4).")],
    mass: Annotated[float, typer.Option(metavar="X", help="Multiple of all masses.")] = 1.0,
    size: Annotated[float, typer.Option(metavar="X", help="Multiple of the torso's length.")] = 1.0,
    steps: Annotated[int, typer.Option(min=1, metavar="N", help="Length of the episode.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="Seed of the episode.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Draw an episode of the cheetah or the walker."""
    check_video_path(out)
    for name, value in {"mass": mass, "size": size}.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--{name} is {value}; expected a positive number")
    found = _policies.find(checkpoint, deterministic=True)
    task = Task(jnp.float32(mass), jnp.float32(size))
    with _console.progress(quiet) as show:
        show("rendering")
        render(out, found.env, found.policy, task, jax.random.key(seed), num_steps=steps)
    _console.output().print(f"{found.source}, mass {mass:g}, size {size:g}: written to {out}")
