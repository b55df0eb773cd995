"""The policy, the tasks, the end of a task's rollouts, and the files of an interrupted run."""

import contextlib
import math
import secrets
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxcert._files import held_alone
from jaxcert.cli._asking import PROTOCOL, Locked
from jaxcert.cli._options import QUIET, argument, flag, option, options, several
from jaxcert.cli._outputs import FORCE, WITNESS, check_new
from jaxcert.report import read_certificate
from jaxcert.rollouts import adaptive_facts, load_adaptive, save_adaptive
from jaxcert.rollouts._own_programs import ENV, POLICY
from jaxcert.rollouts._slots import SCHEDULES
from jaxcert.training._found_policies import Found, shipped

SCHEDULES_NAMED = ", ".join(SCHEDULES)
_OF_ROLLOUTS = ("until", "beta", "max_rollouts", "max_rollouts_per_task", "schedule", "binary", "slots", "deadline")
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
    deadline: float | None = option("T", "End after T seconds; the same command goes on from there.")
    json: Path | None = option("FILE", "Write the certificate there.")
    witness: bool = WITNESS
    deterministic: bool | None = None

    @property
    def thresholds(self) -> list[float]:
        """Performances to decide on, or to be certified later."""
        return self.threshold or []

    def settled(self, locked: Locked | None) -> "Rolling":
        """Add the protocol's settings, which no option may contradict."""
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
        return asked._replace(delta=0.01 if asked.delta is None else asked.delta)

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
        if self.deadline is not None and not 0 < self.deadline < math.inf:
            raise ValueError(f"--deadline is {self.deadline:g}; expected a positive number of seconds")


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


# The seeds that the option allows, including all that can be drawn.
_SEEDS = range(2**32)


def drawn_seed() -> int:
    """A random seed, so that none repeats by accident: a policy must not be certified on the tasks it was chosen on."""
    return secrets.randbits(31)


class Unfinished:
    """The run so far, or None for a new one, while this process holds its lock; and the facts that describe it."""

    def __init__(self, asked: Rolling, facts: Mapping[str, Any]) -> None:
        (self.path, _), self.force = working_files(asked.out).values(), asked.force
        self._readers = {asked.out: adaptive_facts, **({} if asked.json is None else {asked.json: _record_facts})}
        begun = adaptive_facts(self.path) if self.path.exists() else None
        self.facts = {**facts, "seed": self._seed(begun) if asked.seed is None else asked.seed}
        if begun is not None:
            self._check(begun)
        # A new run has written none of them.
        self._ours = set() if begun is None else {path for path in self._readers if self._is_ours(path)}
        check_new(*(path for path in self._readers if path not in self._ours), force=self.force)
        self.run = None if begun is None else load_adaptive(self.path)

    def may_replace(self, path: Path) -> bool:
        """Whether an output may replace the file that exists now: the one that existed when the run began, or any."""
        return self.force or (path in self._ours and self._is_ours(path))

    def save(self, so_far: Any) -> None:
        """Keep the run so far."""
        save_adaptive(self.path, so_far, facts=self.facts)

    def _seed(self, begun: Mapping[str, Any] | None) -> int:
        seed = drawn_seed() if begun is None else begun.get("seed")
        if type(seed) is not int or seed not in _SEEDS:
            raise ValueError(f"{self.path}: its seed is {seed!r:.40}; expected a whole number from 0 to {_SEEDS[-1]}")
        return seed

    def _check(self, begun: Mapping[str, Any]) -> None:
        for name, value in self.facts.items():
            if begun.get(name) != value:
                raise ValueError(
                    f"{self.path} holds another run, with {name} = {begun.get(name)!r}, not {value!r}; "
                    "remove it, or choose another --out"
                )

    def _is_ours(self, path: Path) -> bool:
        """Whether a file belongs to this run, which reached its deadline."""
        with contextlib.suppress(OSError, ValueError):
            return self._readers[path](path).items() >= self.facts.items()
        return False


@contextlib.contextmanager
def unfinished(run: Run, settings: Mapping[str, Any]) -> Iterator[Unfinished]:
    """The unfinished run of one output and its record, held by one process at a time."""
    file, lock = working_files(run.asked.out).values()
    with held_alone(lock) as is_alone:
        if not is_alone:
            raise ValueError(f"{file}: in use by another process; wait for it, or choose another --out")
        yield Unfinished(run.asked, {**run.facts, **settings})


def working_files(out: Path) -> dict[str, Path]:
    """The command's own files beside an output, with the unfinished run to resume, if any."""
    file = out.with_name(f"{out.name}.unfinished")
    return {"the run so far": file, "its lock": file.with_name(f"{file.name}.lock")}


def _record_facts(path: Path) -> dict[str, Any]:
    """Entries of a certificate file about its rollouts."""
    (record,) = read_certificate(path)["certificates"]
    rollouts = record.get("rollouts")
    return rollouts if isinstance(rollouts, dict) else {}
