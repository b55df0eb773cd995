"""`jaxcert rollout`: returns of a policy on tasks, to a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert._files import in_file
from jaxcert.cli import _console
from jaxcert.cli._adaptive_rollout import adaptive_rollout, check_archive_path
from jaxcert.cli._fixed_rollout import fixed_rollout
from jaxcert.cli._locked import Locked, ProtocolFile, locked_in
from jaxcert.cli._options import Quiet, Stochastic, several, with_group
from jaxcert.cli._outputs import Force, check_distinct, check_new, check_witness
from jaxcert.cli._run import Adaptive, Run
from jaxcert.cli._unfinished import is_unfinished, working_files
from jaxcert.report._certifiable import check_certifiable, check_size
from jaxcert.rollouts._own_programs import ENV, POLICY
from jaxcert.tables import check_returns_path
from jaxcert.tables._columns import Columns
from jaxcert.training._found_policies import find, shipped


@with_group("asked", Adaptive)
def rollout(
    policy: Annotated[
        Path,
        typer.Argument(
            metavar=POLICY,
            help="A folder of `jaxcert.training.train` (its last checkpoint), one checkpoint of it, or a policy file "
            f"(.npz); a policy shipped with the package: {', '.join(shipped())}; or, with {ENV}, MODULE:NAME "
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
    (check_archive_path if rollouts is None else check_returns_path)(out)
    files, working = [("--protocol", protocol), ("--out", out), ("--json", asked.json)], working_files(out)
    check_distinct((POLICY, policy), *files, working=working)
    if not is_unfinished(out):
        check_new(out, asked.json, force=force)
    found = find(policy, env, deterministic=deterministic)
    check_distinct(*found.files, *files, working=working)
    if locked is not None:
        kept = ("policy_sha256", "environment", "environment_sha256", "deterministic")
        locked.check({name: found.facts.get(name) for name in kept} | {"support": found.env.support})
    run = Run(found, tasks, asked, out, seed, force, quiet)
    if rollouts is None:
        adaptive_rollout(run)
    else:
        fixed_rollout(run, rollouts, safety)


def _check_certifiable(locked: Locked, out: Path) -> None:
    """Raise ValueError where `certify` would refuse the returns by the protocol, whatever they are."""
    with _console.warnings_on_stderr(), in_file(locked.path):
        check_certifiable(locked.protocol)
    written = {"task": Columns().task, "value": Columns().value}
    locked.check(written, "of the table that rollout writes, {}")
    named = [name for name in written if getattr(locked.protocol, name) is not None]
    if named and out.suffix.lower() == ".npz":
        raise ValueError(f"{out}: has no columns, the protocol locks {' and '.join(named)}; expected a .parquet")
