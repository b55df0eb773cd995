"""`jaxcert rollout`: returns of a policy on tasks, to a file; an interruption loses half a second of them at most."""

import contextlib
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import typer
from rich.progress import ProgressColumn, Task
from rich.text import Text

from jaxcert._files import in_file
from jaxcert.cli import _console, _policies
from jaxcert.cli._adaptive_rollout import Adaptive, adaptive_rollout, check_archive_path
from jaxcert.cli._lock_command import check_certifiable, check_size
from jaxcert.cli._locked import Locked, ProtocolFile, locked_in
from jaxcert.cli._options import Quiet, Stochastic, several, with_group
from jaxcert.cli._outputs import Force, Writing, check_distinct, check_new, check_witness
from jaxcert.cli._own_programs import ENV, POLICY
from jaxcert.cli._unfinished import FIXED, Unfinished, is_unfinished, lock_file, unfinished, unfinished_file
from jaxcert.planning import check
from jaxcert.rollouts import collect
from jaxcert.rollouts._policy import key_apart
from jaxcert.rollouts._resumption import task_columns
from jaxcert.tables import check_returns_path, write_returns
from jaxcert.tables._columns import Columns
from jaxcert.tables._returns import how_many
from jaxcert.tables._written import check_parameters

# Episodes that are made together: enough to keep the machine busy. And how often all so far are kept.
_EPISODES, _SECONDS = 1000, 0.5


@with_group("asked", Adaptive)
def rollout(
    policy: Annotated[
        Path,
        typer.Argument(
            metavar=POLICY,
            help="A folder of `jaxcert.training.train` (its last checkpoint), one checkpoint of it, or a policy file "
            f"(.npz); a policy shipped with the package: {', '.join(_policies.shipped())}; or, with {ENV}, MODULE:NAME "
            "of one of your own, a `Policy` or a function of an observation and a key.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File for the returns (.parquet or .npz; with --threshold .npz).")
    ],
    env: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="An environment of your own, such as my_package.envs:ENV in the working directory: a `MultiTaskEnv`, "
            "or a function without arguments that gives one.",
        ),
    ] = None,
    tasks: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of tasks.")] = None,
    rollouts: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Rollouts of each task, the same for all.")
    ] = None,
    threshold: Annotated[
        list[Any] | None,
        several(
            "B",
            "Without --rollouts: roll out each task until it is decided whether its expected return is at least B, and "
            "certify B. With: performance to be certified later; warn if it cannot be",
        ),
    ] = None,
    safety: Annotated[
        float | None, typer.Option(metavar="S", help="Safety to be certified later: warn if it cannot be.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(metavar="D", help="Failure probability of each threshold's certificate; by default 0.01."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, metavar="S", help="Seed for the sampling; by default a new one."),
    ] = None,
    stochastic: Stochastic = False,
    protocol: ProtocolFile = None,
    force: Force = False,
    quiet: Quiet = False,
    *,
    asked: Adaptive,
) -> None:
    """Run a policy on new tasks, and write its returns; the same command resumes an interrupted run."""
    check_witness(asked.witness, asked.json)
    locked, deterministic = locked_in(protocol), False if stochastic else None
    if locked is not None:
        settled = locked.protocol
        wished = {"delta": delta, "thresholds": threshold, "safeties": [] if safety is None else [safety]}
        wished |= {"beta": asked.beta, "num_tasks": tasks, "num_rollouts": rollouts, "seed": seed}
        locked.check(wished)
        if stochastic:
            locked.check({"deterministic": False}, "--stochastic: {}")
        _check_certifiable(locked, out)
        tasks, rollouts, delta = settled.num_tasks, settled.num_rollouts, settled.delta
        asked, seed = asked._replace(beta=None), seed if settled.seed is None else settled.seed
        deterministic = deterministic if settled.deterministic is None else settled.deterministic
    if tasks is None:
        raise ValueError("--tasks missing; expected the option, or a --protocol")
    check_size(tasks, rollouts or 1)
    asked = asked._replace(thresholds=threshold or (), **({} if delta is None else {"delta": delta}))
    asked.check(rollouts, safety)
    check_path = check_archive_path if rollouts is None else check_returns_path
    check_path(out)
    files = ("--protocol", protocol), ("--out", out), ("--json", asked.json)
    check_distinct((POLICY, policy), *files, working=_working(out))
    if not is_unfinished(out):
        check_new(out, asked.json, force=force)
    found = _policies.find(policy, env, deterministic=deterministic)
    check_distinct(*found.files, *files, working=_working(out))
    if locked is not None:
        kept = ("policy_sha256", "environment", "environment_sha256", "deterministic")
        locked.check({name: found.facts.get(name) for name in kept} | {"support": found.env.support})
    facts = _facts(found, tasks)
    if rollouts is None:
        adaptive_rollout(found, asked, out, facts, seed, force=force, quiet=quiet)
    else:
        _fixed(found, (tasks, rollouts), asked, safety, out, facts, seed, force=force, quiet=quiet)


def _working(out: Path) -> dict[str, Path]:
    """Files and folders beside an output that are its command's own, by what they are for."""
    return {"the run so far": unfinished_file(out), "its lock": lock_file(out)}


def _check_certifiable(locked: Locked, out: Path) -> None:
    """Raise ValueError where `certify` would refuse the returns by the protocol, whatever they are."""
    with in_file(locked.path):
        check_certifiable(locked.protocol)
    written = {"task": Columns().task, "value": Columns().value}
    locked.check(written, "of the table that rollout writes, {}")
    named = [name for name in written if getattr(locked.protocol, name) is not None]
    if named and out.suffix.lower() == ".npz":
        raise ValueError(f"{out}: has no columns, the protocol locks {' and '.join(named)}; expected a .parquet")


def _fixed(
    found: _policies.Found,
    shape: tuple[int, int],
    asked: Adaptive,
    safety: float | None,
    out: Path,
    facts: dict[str, Any],
    seed: int | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """As many rollouts of each task, with a warning where they cannot certify what is wanted."""
    tasks, rollouts = shape
    if asked.thresholds or safety:
        wanted = {"delta": asked.delta, "thresholds": asked.thresholds, "safety": safety}
        for advice in check(tasks, rollouts, support=found.env.support, **wanted):
            print(f"warning: {advice}", file=sys.stderr)
    facts = {**facts, "num_rollouts": rollouts}
    with unfinished(out, None, facts, seed, force=force, kind=FIXED) as kept:
        key_tasks, key_rollouts = jax.random.split(key_apart(jax.random.key(kept.seed)))
        sampled, written = found.env.sample_tasks(key_tasks, tasks), Writing()
        check_parameters(columns := task_columns(sampled))
        returns = _in_parts(found, sampled, key_rollouts, shape, kept, quiet=quiet)
        replace = kept.may_replace(out)
        written.attempt(write_returns, out, returns, tasks=columns, facts=kept.facts, replace=replace)
        kept.remove()
    written.check()
    means = returns.mean(axis=1)
    _console.output().print(
        f"{found.title}: {how_many(tasks, 'task')}, {how_many(rollouts, 'rollout')} each, seed {kept.seed}\n"
        f"mean return {_shown(returns.mean())}, of tasks {_shown(means.min())} to {_shown(means.max())}\n"
        f"written to {out}"
    )


def _facts(found: _policies.Found, num_tasks: int) -> dict[str, Any]:
    """What determines the returns, besides the seed and how many there are of a task."""
    return {
        **found.facts,
        "num_tasks": num_tasks,
        "episode_length": found.env.episode_length,
        "precision": str(jnp.result_type(float)),
        "versions": _versions(),
    }


def _in_parts(
    found: _policies.Found, tasks: Any, key: jax.Array, shape: tuple[int, int], kept: Unfinished, *, quiet: bool
) -> np.ndarray:
    """The returns of all tasks; those of some after the other, so that an interrupted run goes on."""
    num_tasks, num_rollouts = shape
    size = min(num_tasks, max(1, _EPISODES // num_rollouts))
    steps_per_task, wait, saved = num_rollouts * found.env.episode_length, _SECONDS, time.perf_counter()
    returns = np.empty((0, num_rollouts)) if kept.run is None else kept.run
    if returns.shape[1:] != (num_rollouts,) or len(returns) % size or len(returns) >= num_tasks + size:
        raise ValueError(f"{kept.path}: holds returns of shape {returns.shape}, damaged; remove it")
    done = [returns] if len(returns) else []
    with _console.bar("rollouts", _Speed(), quiet=quiet) as update:
        update(total=num_tasks * steps_per_task, advance=min(len(returns), num_tasks) * steps_per_task)
        try:
            for start in range(len(returns), num_tasks, size):
                # The last part is as long as the others, so that it needs no recompilation.
                rows = np.minimum(np.arange(start, start + size), num_tasks - 1)
                chosen = jax.tree.map(lambda leaf, rows=rows: leaf[rows], tasks)
                own = jax.random.fold_in(key, start // size)
                done.append(np.asarray(collect(found.env, found.policy, chosen, own, num_rollouts=num_rollouts)))
                update(advance=min(size, num_tasks - start) * steps_per_task)
                if (begun := time.perf_counter()) - saved > wait:
                    kept.save(np.concatenate(done))
                    saved = time.perf_counter()
                    wait = max(_SECONDS, 10 * (saved - begun))  # what takes long is done seldom
        finally:
            if done:
                kept.save(np.concatenate(done))
    return np.concatenate(done)[:num_tasks]


def _shown(mean: float) -> str:
    return f"{mean:.1f}" if abs(mean) >= 10 else f"{mean:.3g}"


def _versions() -> dict[str, str]:
    found = {}
    for package in ("jaxcert", "jax", "mujoco-mjx"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f} steps/s")
