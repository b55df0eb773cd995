"""`jaxcert render`: a video of a policy on one task."""

import math
from pathlib import Path

import jax
import jax.numpy as jnp

from jaxcert.cli import _console, _policies
from jaxcert.tasks.locomotion import Task, check_video_path, render


def render_policy(
    checkpoint: Path, out: Path, *, mass: float, size: float, num_steps: int, seed: int, quiet: bool
) -> None:
    """One episode from its start."""
    check_video_path(out)
    for name, value in {"mass": mass, "size": size}.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--{name} is {value}; expected a positive number")
    if num_steps < 1:
        raise ValueError(f"--steps is {num_steps}; expected at least 1")
    found = _policies.find(checkpoint, deterministic=True)
    task = Task(jnp.float32(mass), jnp.float32(size))
    with _console.progress(quiet) as show:
        show("rendering")
        render(out, found.env, found.policy, task, jax.random.key(seed), num_steps=num_steps)
    _console.output().print(f"{found.source}, mass {mass:g}, size {size:g}: written to {out}", soft_wrap=True)
