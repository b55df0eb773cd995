"""What is rolled out: the policy, the tasks, and when the rollouts of a task end."""

import contextlib
import math
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import typer

from jaxcert.cli._outputs import Witness
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.training._found_policies import Found

SCHEDULES_NAMED = ", ".join(SCHEDULES)


class Adaptive(NamedTuple):
    """The options of rollouts until each task is decided, and what is asked: thresholds and delta."""

    until: Annotated[
        float | None, typer.Option(metavar="S", help="End once each threshold is certified on this share of new tasks.")
    ] = None
    beta: Annotated[
        float | None,
        typer.Option(metavar="P", help="Probability with which a task below B may pass; by default 0.05."),
    ] = None
    max_rollouts: Annotated[
        int | None, typer.Option(min=1, metavar="R", help="Most rollouts in all; by default 100 per task.")
    ] = None
    max_rollouts_per_task: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Most rollouts of one task; by default any number.")
    ] = None
    schedule: Annotated[str | None, typer.Option(metavar="NAME", help=f"Which task is next: {SCHEDULES_NAMED}.")] = None
    binary: Annotated[
        bool,
        typer.Option(
            "--binary",
            help="Declare that returns are 0 or 1, as is known of the shipped worlds without physics and of zones.",
        ),
    ] = False
    slots: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Most rollouts side by side; by default one per task, if memory allows."),
    ] = None
    deadline: Annotated[
        float | None,
        typer.Option(metavar="T", help="End after T seconds; the same command goes on from there."),
    ] = None
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the certificate there.")] = None
    witness: Witness = False
    thresholds: Sequence[float] = ()
    delta: float = 0.01

    def check(self, rollouts: int | None, safety: float | None) -> None:
        """Raise ValueError for options that do not go together; ``rollouts``: the same number of each task."""
        options = {name: value for name, value in self._asdict().items() if name not in ("thresholds", "delta")}
        given = [name for name, value in options.items() if value is not None and value is not False]
        if given and (rollouts is not None or not self.thresholds):
            option = given[0].replace("_", "-")
            raise ValueError(f"--{option} needs a --threshold in place of --rollouts, which is a fixed number")
        if rollouts is not None:
            return
        if not self.thresholds:
            raise ValueError("expected --rollouts, the same number for each task, or a --threshold to decide")
        if safety is not None:
            raise ValueError("--safety needs --rollouts; expected --until in its place")
        if self.deadline is not None and not 0 < self.deadline < math.inf:
            raise ValueError(f"--deadline is {self.deadline:g}; expected a positive number of seconds")


class Run(NamedTuple):
    """What is rolled out, and where it goes.

    Attributes:
        found: the policy with its environment.
        num_tasks: how many tasks are sampled.
        asked: thresholds, delta, and when the rollouts of a task end.
        out: the file.
        seed: of the sampling; None for a new one, or that of the run so far.
        force: whether files that exist are replaced.
        quiet: whether to show no progress.
    """

    found: Found
    num_tasks: int
    asked: Adaptive
    out: Path
    seed: int | None
    force: bool
    quiet: bool

    @property
    def facts(self) -> dict[str, Any]:
        """What determines the returns, besides the seed and how many there are of a task."""
        about = {"num_tasks": self.num_tasks, "episode_length": self.found.env.episode_length}
        versions = {}
        for package in ("jaxcert", "jax", "mujoco-mjx"):
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[package] = metadata.version(package)
        return {**self.found.facts, **about, "precision": str(jnp.result_type(float)), "versions": versions}
