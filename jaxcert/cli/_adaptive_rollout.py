"""`jaxcert rollout --threshold`: rollouts until each task is decided; an interruption loses half a second of them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxcert._files import check_output, check_suffix
from jaxcert.certificates import floor_to
from jaxcert.cli import _console
from jaxcert.cli._outputs import writing
from jaxcert.cli._run import Rolling, Run, Unfinished, unfinished
from jaxcert.cli._tables import as_given
from jaxcert.report import run_record, write_certificates
from jaxcert.rollouts import AdaptiveCertificate, certify_adaptive, save_adaptive

# Rollouts of each task, on average, unless the user gives another number.
_ROLLOUTS_PER_TASK = 100


def check_archive_path(path: Path) -> None:
    """Raise beforehand for a file that could not be written."""
    check_suffix(check_output(path), [".npz"])


def adaptive_rollout(run: Run) -> None:
    """Roll out, show how the certificate grows, print it, and write the run to a file."""
    asked, settings = run.asked, _settings(run)
    if asked.json is not None:
        check_output(asked.json)
    of_run = {"thresholds": asked.thresholds, **settings}
    with unfinished(run, of_run) as kept, _console.progress(asked.quiet) as show:
        result = _rolled_out(run, settings, kept, _Line(asked, show))
        goes_on = _by_deadline(result, asked, settings["max_rollouts"])
        with writing() as write:
            saved = write(save_adaptive, asked.out, result, facts=kept.facts, replace=kept.may_replace(asked.out))
            if asked.json is not None:
                log = asked.out if asked.witness and saved else None
                record = run_record(result, rollouts={**kept.facts, **_costs(result)}, log=log)
                write(write_certificates, asked.json, [record], replace=kept.may_replace(asked.json))
            if not goes_on:
                kept.remove()
    _console.say(*_summary(run, result, kept.seed, goes_on=goes_on))


def _settings(run: Run) -> dict[str, Any]:
    """Of `certify_adaptive`, but for the thresholds."""
    asked, same = run.asked, ("until", "delta", "beta", "max_rollouts_per_task")
    return {name: getattr(asked, name) for name in same} | {
        "num_tasks": run.num_tasks,
        "max_rollouts": asked.max_rollouts or run.num_tasks * _ROLLOUTS_PER_TASK,
        "schedule": asked.schedule or "round_robin",
        "binary": asked.binary or None,
        "num_slots": asked.slots,
    }


def _rolled_out(run: Run, settings: dict[str, Any], kept: Unfinished, line: "_Line") -> AdaptiveCertificate:
    """The run from where it is, or from its first rollout; each look at it is kept and shown."""

    def look(so_far: AdaptiveCertificate) -> None:
        kept.save(so_far)
        line.show(so_far)

    asked, found = run.asked, run.found
    given: Any = {"deadline": asked.deadline, "progress": look, "resume": kept.run}
    with kept.naming():
        key = jax.random.key(kept.seed)
        return certify_adaptive(found.env, found.policy, key, asked.thresholds, **settings, **given)


def _summary(run: Run, result: AdaptiveCertificate, seed: int, *, goes_on: bool) -> list[str]:
    costs, n = _costs(result), result.certificate.num_tasks
    each = f"{costs['fewest']} to {costs['most']} of a task"
    as_slowest = f"; as many of every task as the slowest took to pass: {n * costs['slowest']:,}"
    return [
        f"{run.found.title}: {n} tasks, seed {seed}, beta {float(result.state.beta):.6g}",
        str(result),
        f"{costs['begun']:,} rollouts, {costs['mean']:.1f} per task, {each}{as_slowest if costs['slowest'] else ''}",
        *_missed(result, run.asked),
        *(["the deadline ended it: the same command goes on from there"] if goes_on else []),
        f"written to {run.asked.out}",
    ]


def _missed(run: AdaptiveCertificate, asked: Rolling) -> list[str]:
    """The fate of the tasks where less than wanted is certified, and a setting that would have lost fewer."""
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
    """Rollouts begun in all and on average; the fewest and most of a task; of the slowest one to pass."""
    counts, begun = np.asarray(run.state.num_rollouts), int(run.num_started)
    slowest = np.where(np.asarray(run.state.passed), np.asarray(run.state.num_rollouts_used), 0).max()
    numbers = {"fewest": int(counts.min()), "most": int(counts.max()), "slowest": int(slowest)}
    return {"begun": begun, "mean": begun / counts.size, **numbers}


def _by_deadline(run: AdaptiveCertificate, asked: Rolling, limit: int) -> bool:
    """Whether nothing else has ended the run."""
    if asked.deadline is None or int(run.num_started) >= limit:
        return False
    wanted = 1.0 if asked.until is None else asked.until
    short = np.asarray(run.certificate.safety, np.float64) < wanted
    return bool(np.any(np.asarray(run.state.is_open) & short))


class _Line:
    """One line on how far the certificate has grown."""

    def __init__(self, asked: Rolling, show: Callable[[str], None]) -> None:
        self.asked, self.write = asked, show
        self.before: tuple[float, int] | None = None

    def show(self, so_far: AdaptiveCertificate) -> None:
        begun, now = int(so_far.num_started), time.perf_counter()
        aim = "" if self.asked.until is None else f" of {as_given(self.asked.until)}"
        safeties = np.asarray(so_far.certificate.safety, np.float64)
        certified = [
            f"at least {as_given(b)} on {floor_to(float(s), 4)}{aim}"
            for b, s in zip(self.asked.thresholds, safeties, strict=True)
        ]
        # The first look has compiled everything.
        pace = [] if self.before is None else [f"{(begun - self.before[1]) / (now - self.before[0]):,.0f} rollouts/s"]
        self.before = self.before or (now, begun)
        self.write(", ".join([f"{begun:,} rollouts", *certified, *pace]))
