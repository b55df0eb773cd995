"""Options of rollouts: the policy, the tasks, and the end of a task's rollouts."""

import contextlib
import secrets
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxcert.cli._asking import PROTOCOL, Locked
from jaxcert.cli._options import QUIET, argument, flag, option, options, several
from jaxcert.cli._outputs import FORCE, WITNESS
from jaxcert.rollouts._own_programs import ENV, POLICY
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.training._found_policies import Found, shipped

SCHEDULES_NAMED = ", ".join(SCHEDULES)
_OF_ROLLOUTS = ("until", "beta", "max_rollouts", "max_rollouts_per_task", "schedule", "binary", "slots")
# Options for rollouts that stop by themselves.
_ADAPTIVE = (*_OF_ROLLOUTS, "json", "witness")


@options
class Rolling(NamedTuple):
    """The options: what to roll out, how often, and where to save it."""

    policy: Path = argument(
        POLICY,
        "A policy file (.npz) of `jaxcert.training.save_policy`; a policy shipped with the package: "
        f"{', '.join(shipped())}; or, with {ENV}, MODULE:NAME of one of your own, a `Policy` or a function of an "
        "observation and a key.",
    )
    out: Path = option("FILE", "File for the returns (.parquet or .npz; with --threshold .npz).", default=...)
    env: str | None = option(
        "MODULE:NAME",
        "An environment of your own, such as my_package.envs:ENV in the working directory: a `MultiTaskEnv`, "
        "or a function without arguments that gives one.",
    )
    tasks: int | None = option("N", "Number of tasks.", min=1)
    rollouts: int | None = option("M", "Rollouts of each task, the same for all.", min=1)
    threshold: list[Any] | None = several(
        "B",
        "Without --rollouts: roll out each task until it is decided whether its expected return is at least B, and "
        "certify B. With: performance to be certified later; warn if it cannot be",
    )
    safety: float | None = option("S", "Safety to be certified later: warn if it cannot be.")
    delta: float | None = option("D", "Failure probability of each certificate; by default 0.01.")
    seed: int | None = option("S", "Seed for the sampling; by default a new one.", min=0, max=2**32 - 1)
    stochastic: bool = flag("Sample actions instead of taking their mode.", "--stochastic")
    protocol: Path | None = PROTOCOL
    force: bool = FORCE
    quiet: bool = QUIET
    until: float | None = option("S", "End once each threshold is certified on this share of new tasks.")
    beta: float | None = option("P", "Probability with which a task below B may pass; by default 0.05.")
    max_rollouts: int | None = option("R", "Most rollouts in all; by default 100 per task.", min=1)
    max_rollouts_per_task: int | None = option("M", "Most rollouts of one task; by default any.", min=1)
    schedule: str | None = option("NAME", f"Which task is next: {SCHEDULES_NAMED}.")
    binary: bool = flag(
        "Declare that returns are 0 or 1, as is known of the shipped worlds without physics and of zones.", "--binary"
    )
    slots: int | None = option("K", "Most rollouts side by side; by default one per task, if memory allows.", min=1)
    json: Path | None = option("FILE", "Write the certificate there.")
    witness: bool = WITNESS
    deterministic: bool | None = None

    @property
    def thresholds(self) -> list[float]:
        """Performances to decide on, or to be certified later."""
        return self.threshold or []

    def settled(self, locked: Locked | None) -> "Rolling":
        """Add the protocol's settings, which no option may contradict, and a seed."""
        asked = self._replace(deterministic=False if self.stochastic else None)
        if locked is not None:
            wished = {"delta": self.delta, "thresholds": self.threshold, "beta": self.beta, "seed": self.seed}
            wished |= {"safeties": [] if self.safety is None else [self.safety]}
            locked.check(wished | {"num_tasks": self.tasks, "num_rollouts": self.rollouts})
            if self.stochastic:
                locked.check({"deterministic": False}, "--stochastic: {}")
            by = locked.protocol
            asked = asked._replace(tasks=by.num_tasks, rollouts=by.num_rollouts, delta=by.delta, beta=None)
            asked = asked._replace(seed=self.seed if by.seed is None else by.seed)
            asked = asked._replace(deterministic=asked.deterministic if by.deterministic is None else by.deterministic)
        # Drawn, so that none repeats by accident: a policy must not be certified on the tasks it was chosen on.
        drawn = secrets.randbits(31) if asked.seed is None else asked.seed
        return asked._replace(delta=0.01 if asked.delta is None else asked.delta, seed=drawn)

    def check(self) -> None:
        """Raise ValueError for options that do not go together."""
        given = [name for name in _ADAPTIVE if getattr(self, name) is not None and getattr(self, name) is not False]
        if given and (self.rollouts is not None or not self.threshold):
            option = given[0].replace("_", "-")
            raise ValueError(f"--{option} needs a --threshold in place of --rollouts, which is a fixed number")
        if self.rollouts is not None:
            return
        if not self.threshold:
            raise ValueError("expected --rollouts, the same number for each task, or a --threshold to decide")
        if self.safety is not None:
            raise ValueError("--safety needs --rollouts; expected --until in its place")


class Run(NamedTuple):
    """The policy, its environment, and the question about it."""

    found: Found
    asked: Rolling

    @property
    def num_tasks(self) -> int:
        """How many tasks are sampled."""
        return self.asked.tasks or 0

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that determine the returns, besides the seed and the numbers of rollouts."""
        about = {"num_tasks": self.num_tasks, "episode_length": self.found.env.episode_length}
        versions = {}
        for package in ("jaxcert", "jax", "mujoco-mjx"):
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[package] = metadata.version(package)
        return {**self.found.facts, **about, "precision": str(jnp.result_type(float)), "versions": versions}
