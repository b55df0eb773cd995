"""`jaxcert rollout --threshold`: rollouts until each task is decided; an interruption loses half a second of them."""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import typer

from jaxcert._files import check_output, check_suffix
from jaxcert.certificates import floor_to
from jaxcert.cli import _console
from jaxcert.cli._outputs import Witness, Writing
from jaxcert.cli._policies import Found
from jaxcert.cli._tables import as_given
from jaxcert.cli._unfinished import unfinished
from jaxcert.report import run_record, write_certificates
from jaxcert.rollouts import AdaptiveCertificate, certify_adaptive, save_adaptive
from jaxcert.rollouts._slots import SCHEDULES

SCHEDULES_NAMED = ", ".join(SCHEDULES)
# Rollouts of each task, on average, unless the user gives another number.
_ROLLOUTS_PER_TASK = 100


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


def check_archive_path(path: Path) -> None:
    """Raise beforehand for a file that could not be written."""
    check_suffix(check_output(path), [".npz"])


def adaptive_rollout(
    found: Found,
    asked: Adaptive,
    out: Path,
    facts: dict[str, Any],
    seed: int | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Roll out, show how the certificate grows, print it, and write the run to a file."""
    if asked.json is not None:
        check_output(asked.json)
    num_tasks = facts["num_tasks"]
    limit = num_tasks * _ROLLOUTS_PER_TASK if asked.max_rollouts is None else asked.max_rollouts
    settings = {
        "until": asked.until,
        "delta": asked.delta,
        "beta": asked.beta,
        "num_tasks": num_tasks,
        "max_rollouts": limit,
        "max_rollouts_per_task": asked.max_rollouts_per_task,
        "schedule": asked.schedule or "round_robin",
        "binary": asked.binary or None,
        "num_slots": asked.slots,
    }
    kept_facts = {**facts, "thresholds": [*asked.thresholds], **settings}
    with unfinished(out, asked.json, kept_facts, seed, force=force) as kept, _console.progress(quiet) as show:
        line = _Line(asked, show)

        def look(so_far: AdaptiveCertificate) -> None:
            kept.save(so_far)
            line.show(so_far)

        with kept.naming():
            run = certify_adaptive(
                found.env,
                found.policy,
                jax.random.key(kept.seed),
                asked.thresholds,
                **settings,
                deadline=asked.deadline,
                progress=look,
                resume=kept.run,
            )
        goes_on, written = _by_deadline(run, asked, limit), Writing()
        saved = written.attempt(save_adaptive, out, run, facts=kept.facts, replace=kept.may_replace(out))
        if asked.json is not None:
            log = out if asked.witness and saved else None
            record = run_record(run, rollouts={**kept.facts, **_costs(run)}, log=log)
            written.attempt(write_certificates, asked.json, [record], replace=kept.may_replace(asked.json))
        if not goes_on:
            kept.remove()
    written.check()
    _console.output().print("\n".join(_summary(found, run, kept.seed, out, asked, goes_on=goes_on)))


# --- what is said -------------------------------------------------------------------------------------------------


def _summary(
    found: Found, run: AdaptiveCertificate, seed: int, out: Path, asked: Adaptive, *, goes_on: bool
) -> list[str]:
    costs, n = _costs(run), run.certificate.num_tasks
    each = f"{costs['fewest']} to {costs['most']} of a task"
    as_slowest = f"; as many of every task as the slowest took to pass: {n * costs['slowest']:,}"
    return [
        f"{found.title}: {n} tasks, seed {seed}, beta {float(run.state.beta):.6g}",
        str(run),
        f"{costs['begun']:,} rollouts, {costs['mean']:.1f} per task, {each}{as_slowest if costs['slowest'] else ''}",
        *_missed(run, asked),
        *(["the deadline ended it: the same command goes on from there"] if goes_on else []),
        f"written to {out}",
    ]


def _missed(run: AdaptiveCertificate, asked: Adaptive) -> list[str]:
    """What became of the tasks where less than wanted is certified, and a setting that would have lost fewer."""
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


def _by_deadline(run: AdaptiveCertificate, asked: Adaptive, limit: int) -> bool:
    """Whether nothing else has ended the run."""
    if asked.deadline is None or int(run.num_started) >= limit:
        return False
    wanted = 1.0 if asked.until is None else asked.until
    short = np.asarray(run.certificate.safety, np.float64) < wanted
    return bool(np.any(np.asarray(run.state.is_open) & short))


class _Line:
    """One line on how far the certificate has grown."""

    def __init__(self, asked: Adaptive, show: Callable[[str], None]) -> None:
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
