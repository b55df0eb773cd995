"""`jaxcert rollout`: as many rollouts of each task, or until it is decided."""

import sys
from typing import Any

import jax
import numpy as np

from jaxcert._files import check_output, check_suffix, in_file
from jaxcert.cli import _console
from jaxcert.cli._asking import Locked, locked_in
from jaxcert.cli._console import as_given
from jaxcert.cli._options import with_group
from jaxcert.cli._outputs import check_distinct, check_new, check_witness
from jaxcert.cli._run import Rolling, Run
from jaxcert.planning import check
from jaxcert.report import run_record, write_certificates
from jaxcert.report._protocol_check import check_certifiable, check_size
from jaxcert.rollouts import AdaptiveCertificate, certify_adaptive, collect, save_adaptive
from jaxcert.rollouts._adaptive_certificate import task_columns
from jaxcert.rollouts._own_programs import POLICY
from jaxcert.rollouts._policy import key_apart
from jaxcert.tables import check_returns_path, write_returns
from jaxcert.tables._returns import how_many
from jaxcert.tables._roles import Columns
from jaxcert.tables._written import check_parameters
from jaxcert.training._found_policies import Found, find


@with_group("given", Rolling)
def command(*, given: Rolling) -> None:
    """Run a policy on new tasks and write its returns; with --threshold, until each task is decided."""
    check_witness(given.witness, given.json)
    locked = locked_in(given.protocol)
    asked = given.settled(locked)
    if locked is not None:
        _check_certifiable(locked, asked)
    if asked.tasks is None:
        raise ValueError("--tasks missing; expected the option, or a --protocol")
    check_size(asked.tasks, asked.rollouts or 1)
    asked.check()
    run = Run(_found(asked), asked)
    if locked is not None:
        kept = ("policy_sha256", "environment", "environment_sha256", "deterministic")
        locked.check({name: run.facts.get(name) for name in kept} | {"support": run.found.env.support})
    (adaptive_rollout if asked.rollouts is None else fixed_rollout)(run)


def _found(asked: Rolling) -> Found:
    """The policy. The outputs are checked before it is read, and against its files."""
    if asked.rollouts is None:
        check_suffix(check_output(asked.out), [".npz"])
    else:
        check_returns_path(asked.out)
    files = ("--protocol", asked.protocol), ("--out", asked.out), ("--json", asked.json)
    check_distinct((POLICY, asked.policy), *files)
    check_new(asked.out, asked.json, force=asked.force)
    found = find(asked.policy, asked.env, deterministic=asked.deterministic)
    check_distinct(*found.files, *files)
    return found


def _check_certifiable(locked: Locked, asked: Rolling) -> None:
    """Raise ValueError if `certify` with the protocol would refuse any returns."""
    with _console.warnings_on_stderr(), in_file(locked.path):
        check_certifiable(locked.protocol)
    written = {"task": Columns().task, "value": Columns().value}
    locked.check(written, "of the table that rollout writes, {}")
    named = [name for name in written if getattr(locked.protocol, name) is not None]
    if named and asked.out.suffix.lower() == ".npz":
        raise ValueError(f"{asked.out}: has no columns, the protocol locks {' and '.join(named)}; expected a .parquet")


# Episodes that are made together: enough to keep the machine busy.
_EPISODES = 1000


def fixed_rollout(run: Run) -> None:
    """Roll out each task equally often, and warn if the rollouts cannot certify the wanted safety."""
    found, asked, out, num_rollouts = run.found, run.asked, run.asked.out, run.asked.rollouts or 0
    if asked.thresholds or asked.safety:
        wanted: Any = {"delta": asked.delta, "thresholds": asked.thresholds, "safety": asked.safety}
        for advice in check(run.num_tasks, num_rollouts, support=found.env.support, **wanted):
            print(f"warning: {advice}", file=sys.stderr)
    key_tasks, key_rollouts = jax.random.split(key_apart(jax.random.key(asked.seed)))
    sampled = found.env.sample_tasks(key_tasks, run.num_tasks)
    check_parameters(columns := task_columns(sampled))
    returns = _in_parts(run, sampled, key_rollouts)
    facts = {**run.facts, "num_rollouts": num_rollouts, "seed": asked.seed}
    write_returns(out, returns, tasks=columns, facts=facts, replace=asked.force)
    means, of_each = returns.mean(axis=1), how_many(num_rollouts, "rollout")
    _console.say(
        f"{found.title}: {how_many(run.num_tasks, 'task')}, {of_each} each, seed {asked.seed}",
        f"mean return {_shown(returns.mean())}, of tasks {_shown(means.min())} to {_shown(means.max())}",
        f"written to {out}",
    )


def _in_parts(run: Run, tasks: Any, key: jax.Array) -> np.ndarray:
    """Roll out all tasks, a few at a time, and show how many are done."""
    env, num_tasks, num_rollouts, done = run.found.env, run.num_tasks, run.asked.rollouts or 0, []
    size = min(num_tasks, max(1, _EPISODES // num_rollouts))
    with _console.progress(run.asked.quiet) as show:
        for start in range(0, num_tasks, size):
            # The last part is as long as the others, so that it needs no recompilation.
            rows = np.minimum(np.arange(start, start + size), num_tasks - 1)
            chosen = jax.tree.map(lambda leaf, rows=rows: leaf[rows], tasks)
            own = jax.random.fold_in(key, start // size)
            done.append(np.asarray(collect(env, run.found.policy, chosen, own, num_rollouts=num_rollouts)))
            show(f"rollouts of {min(start + size, num_tasks):,} of {num_tasks:,} tasks")
    return np.concatenate(done)[:num_tasks]


def _shown(mean: float) -> str:
    return f"{mean:.1f}" if abs(mean) >= 10 else f"{mean:.3g}"


# Rollouts of each task, on average, unless the user gives another number.
_ROLLOUTS_PER_TASK = 100


def adaptive_rollout(run: Run) -> None:
    """Roll out, show how the certificate grows, print it, and write the run to a file."""
    asked, settings = run.asked, _settings(run)
    if asked.json is not None:
        check_output(asked.json)
    key = jax.random.key(asked.seed)
    with _console.progress(asked.quiet) as show:
        show(f"rollouts of {run.num_tasks:,} tasks, until each is decided")
        result = certify_adaptive(run.found.env, run.found.policy, key, asked.thresholds, **settings)
    facts = {**run.facts, "thresholds": asked.thresholds, **settings, "seed": asked.seed}
    save_adaptive(asked.out, result, facts=facts, replace=asked.force)
    if asked.json is not None:
        record = run_record(result, rollouts={**facts, **_costs(result)}, log=asked.out if asked.witness else None)
        write_certificates(asked.json, [record], replace=asked.force)
    _console.say(*_summary(run, result))


def _settings(run: Run) -> dict[str, Any]:
    """Settings of `certify_adaptive` except the thresholds."""
    asked, same = run.asked, ("until", "delta", "beta", "max_rollouts_per_task")
    return {name: getattr(asked, name) for name in same} | {
        "num_tasks": run.num_tasks,
        "max_rollouts": asked.max_rollouts or run.num_tasks * _ROLLOUTS_PER_TASK,
        "schedule": asked.schedule or "round_robin",
        "binary": asked.binary or None,
        "num_slots": asked.slots,
    }


def _summary(run: Run, result: AdaptiveCertificate) -> list[str]:
    costs, n = _costs(result), result.certificate.num_tasks
    each = f"{costs['fewest']} to {costs['most']} of a task"
    as_slowest = f"; as many of every task as the slowest took to pass: {n * costs['slowest']:,}"
    return [
        f"{run.found.title}: {n} tasks, seed {run.asked.seed}, beta {float(result.state.beta):.6g}",
        str(result),
        f"{costs['begun']:,} rollouts, {costs['mean']:.1f} per task, {each}{as_slowest if costs['slowest'] else ''}",
        *_missed(result, run.asked),
        f"written to {run.asked.out}",
    ]


def _missed(run: AdaptiveCertificate, asked: Rolling) -> list[str]:
    """If less than wanted is certified, the fate of the tasks, and a setting that would have lost fewer."""
    state, lines = run.state, []
    passed, is_open = np.asarray(state.passed), np.asarray(state.is_open)
    safeties = np.asarray(run.certificate.safety, np.float64)
    wanted = 0.0 if asked.until is None else asked.until
    for i in np.flatnonzero(safeties < wanted).tolist():
        counts = f"{passed[:, i].sum()} of {len(passed)} tasks passed, {is_open[:, i].sum()} are undecided"
        left = (~passed & ~is_open)[:, i].sum()
        lines.append(f"{as_given(asked.thresholds[i])} on less than {as_given(wanted)}: {counts}, {left} given up")
    return lines


def _costs(run: AdaptiveCertificate) -> dict[str, Any]:
    """The total and mean number of rollouts begun, the fewest and most of a task, and those of the slowest task to
    pass.
    """
    counts, begun = np.asarray(run.state.num_rollouts), int(run.num_started)
    slowest = np.where(np.asarray(run.state.passed), np.asarray(run.state.num_rollouts_used), 0).max()
    numbers = {"fewest": int(counts.min()), "most": int(counts.max()), "slowest": int(slowest)}
    return {"begun": begun, "mean": begun / counts.size, **numbers}
