"""`jaxcert rollout`: returns of a policy on tasks, to a file; an interruption loses one part at most."""

import contextlib
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import typer
from rich.progress import ProgressColumn, Task
from rich.text import Text

from jaxcert.cli import _console, _policies
from jaxcert.cli._adaptive_rollout import SCHEDULES_NAMED, adaptive_rollout, asked_for, check_archive_path
from jaxcert.cli._lock_command import check_certifiable
from jaxcert.cli._options import CHECKPOINT, Quiet, Stochastic, Witness, several
from jaxcert.cli._settled import (
    Force,
    ProtocolFile,
    Writing,
    check_distinct,
    check_new,
    check_size,
    check_witness,
    refuse,
)
from jaxcert.cli._unfinished import (
    Parts,
    is_unfinished,
    lock_file,
    parts_folder,
    parts_of,
    remove_parts_of_finished,
    unfinished_file,
)
from jaxcert.planning import check
from jaxcert.report import Protocol
from jaxcert.rollouts import collect
from jaxcert.rollouts._policy import key_apart
from jaxcert.rollouts._resumption import task_columns
from jaxcert.tables import check_returns_path, write_returns
from jaxcert.tables._columns import Columns
from jaxcert.tables._returns import how_many

# Episodes per part: enough to keep the machine busy, few enough to lose.
_EPISODES = 1000
_DELTA = 0.01


def rollout(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help=f"{CHECKPOINT}{', '.join(_policies.shipped())}.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File for the returns (.parquet or .npz; with --threshold .npz).")
    ],
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
    until: Annotated[
        float | None, typer.Option(metavar="S", help="End once each threshold is certified on this share of new tasks.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(metavar="D", help="Failure probability of each threshold's certificate; by default 0.01."),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(metavar="P", help="Probability with which a task below B may pass; by default 0.05."),
    ] = None,
    max_rollouts: Annotated[
        int | None, typer.Option(min=1, metavar="R", help="Most rollouts in all; by default 100 per task.")
    ] = None,
    max_rollouts_per_task: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Most rollouts of one task; by default any number.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Which task is next: {SCHEDULES_NAMED}.")
    ] = None,
    binary: Annotated[
        bool,
        typer.Option(
            "--binary",
            help="Declare that returns are 0 or 1, as is known of the shipped worlds without physics and of zones.",
        ),
    ] = False,
    slots: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Most rollouts side by side; by default one per task, if memory allows."),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="T", help="End after T seconds; the same command goes on from there."),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the certificate there.")] = None,
    witness: Witness = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, metavar="S", help="Seed for the sampling; by default a new one."),
    ] = None,
    stochastic: Stochastic = False,
    protocol: ProtocolFile = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run a policy on new tasks, and write its returns; the same command resumes an interrupted run."""
    given = {
        "until": until,
        "beta": beta,
        "max_rollouts": max_rollouts,
        "max_rollouts_per_task": max_rollouts_per_task,
        "schedule": schedule,
        "slots": slots,
        "deadline": deadline,
        "binary": binary or None,
        "json": json,
        "witness": witness or None,
    }
    check_witness(witness, json)
    locked = None if protocol is None else Protocol.read(protocol)
    if locked is not None:
        wished = {"delta": delta, "thresholds": threshold, "safeties": [] if safety is None else [safety]}
        refuse(protocol, locked.contradictions({**wished, "beta": beta}))
        delta, given["beta"] = locked.delta, None
        _check_certifiable(protocol, locked, out)
    delta = _DELTA if delta is None else delta
    tasks, rollouts, seed = _design(protocol, locked, tasks, rollouts, seed)
    check_size(tasks, rollouts or 1)
    stochastic = _is_stochastic(protocol, locked, stochastic)
    asked = asked_for(rollouts, threshold, safety, delta, given)
    check_path = check_archive_path if asked else check_returns_path
    check_path(out)
    files = ("--protocol", protocol), ("--out", out), ("--json", json)
    check_distinct(("CHECKPOINT", checkpoint), *files, working=_working(out))
    remove_parts_of_finished(out)
    if not (asked and is_unfinished(out)):
        check_new(out, json, force=force)
    found = _policies.find(checkpoint, deterministic=not stochastic)
    check_distinct(("CHECKPOINT", found.file), *files, working=_working(out))
    if locked is not None:
        _check_policy(protocol, locked, found)
    facts = _facts(found, tasks, deterministic=not stochastic)
    if asked:
        adaptive_rollout(found, asked, out, facts, seed, force=force, quiet=quiet)
        return
    wanted = {"delta": delta, "thresholds": threshold or (), "safety": safety}
    _fixed(found, (tasks, rollouts or 0), wanted, out, facts, seed, force=force, quiet=quiet)


def _working(out: Path) -> dict[str, Path]:
    """Files and folders beside an output that are its command's own, by what they are for."""
    return {
        "parts of the rollouts": parts_folder(out),
        "the run so far": unfinished_file(out),
        "its lock": lock_file(out),
    }


def _design(
    path: Path | None, locked: Protocol | None, tasks: int | None, rollouts: int | None, seed: int | None
) -> tuple[int, int | None, int | None]:
    """Numbers of tasks and rollouts, and the seed: the options, or what the protocol says."""
    if locked is not None:
        given = {"num_tasks": tasks, "num_rollouts": rollouts, "seed": seed}
        refuse(path, locked.contradictions(given))
        return locked.num_tasks, locked.num_rollouts, seed if locked.seed is None else locked.seed
    if tasks is None:
        raise ValueError("--tasks missing; expected the option, or a --protocol")
    return tasks, rollouts, seed


def _check_certifiable(path: Path | None, locked: Protocol, out: Path) -> None:
    """Raise ValueError where `certify` would refuse the returns by the protocol, whatever they are."""
    try:
        check_certifiable(locked)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    written = {"task": Columns().task, "value": Columns().value}
    if different := locked.contradictions(written):
        refuse(path, [f"of the table that rollout writes, {line}" for line in different])
    named = [name for name in written if getattr(locked, name) is not None]
    if named and out.suffix.lower() == ".npz":
        raise ValueError(f"{out}: has no columns, the protocol locks {' and '.join(named)}; expected a .parquet")


def _is_stochastic(path: Path | None, locked: Protocol | None, stochastic: bool) -> bool:
    """Whether actions are sampled: by the option, or by the protocol, which the option must not contradict."""
    if locked is None or locked.deterministic is None:
        return stochastic
    if stochastic:
        refuse(path, [f"--stochastic: {line}" for line in locked.contradictions({"deterministic": False})])
    return not locked.deterministic


def _check_policy(path: Path | None, locked: Protocol, found: _policies.Found) -> None:
    """Raise ValueError for another policy or environment than the protocol names."""
    facts = {"policy_sha256": found.sha256, "environment": found.env.name or None, "support": found.env.support}
    refuse(path, locked.contradictions(facts))


def _fixed(
    found: _policies.Found,
    shape: tuple[int, int],
    wanted: dict[str, Any],
    out: Path,
    facts: dict[str, Any],
    seed: int | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """As many rollouts of each task, with a warning where they cannot certify what is wanted."""
    tasks, rollouts = shape
    if wanted["thresholds"] or wanted["safety"]:
        for advice in check(tasks, rollouts, support=found.env.support, **wanted):
            print(f"warning: {advice}", file=sys.stderr)
    facts = {**facts, "num_rollouts": rollouts}
    with parts_of(out, facts, seed, _EPISODES) as parts:
        key_tasks, key_rollouts = jax.random.split(key_apart(jax.random.key(parts.seed)))
        sampled = found.env.sample_tasks(key_tasks, tasks)
        returns = _in_parts(found, sampled, key_rollouts, shape, parts, quiet=quiet)
        columns, written = task_columns(sampled), Writing()
        written.attempt(write_returns, out, returns, tasks=columns, facts={**facts, "seed": parts.seed}, replace=force)
        parts.remove()
    written.check()
    kind = "deterministic" if facts["deterministic"] else "stochastic"
    means = returns.mean(axis=1)
    _console.output().print(
        f"{found.source}, {kind}: {how_many(tasks, 'task')}, {how_many(rollouts, 'rollout')} each, seed {parts.seed}\n"
        f"mean return {_shown(returns.mean())}, of tasks {_shown(means.min())} to {_shown(means.max())}\n"
        f"written to {out}"
    )


def _facts(found: _policies.Found, num_tasks: int, *, deterministic: bool) -> dict[str, Any]:
    """What determines the returns, besides the seed and how many there are of a task."""
    return {
        "policy": found.source,
        "policy_sha256": found.sha256,
        "environment": found.env.name,
        "deterministic": deterministic,
        "num_tasks": num_tasks,
        "episode_length": found.env.episode_length,
        "precision": str(jnp.result_type(float)),
        "versions": _versions(),
    }


def _in_parts(
    found: _policies.Found, tasks: Any, key: jax.Array, shape: tuple[int, int], parts: Parts, *, quiet: bool
) -> np.ndarray:
    num_tasks, num_rollouts = shape
    size = min(num_tasks, max(1, _EPISODES // num_rollouts))
    steps_per_task = num_rollouts * found.env.episode_length
    done = []
    with _console.bar("rollouts", _Speed(), quiet=quiet) as update:
        update(total=num_tasks * steps_per_task)
        for i, start in enumerate(range(0, num_tasks, size)):
            returns = parts.load(i)
            if returns is None:
                # The last part is as long as the others, so that it needs no recompilation.
                rows = np.minimum(np.arange(start, start + size), num_tasks - 1)
                chosen = jax.tree.map(lambda leaf, rows=rows: leaf[rows], tasks)
                own = jax.random.fold_in(key, i)
                returns = np.asarray(collect(found.env, found.policy, chosen, own, num_rollouts=num_rollouts))
                parts.save(i, returns)
            done.append(returns)
            update(advance=min(size, num_tasks - start) * steps_per_task)
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
