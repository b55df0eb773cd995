"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._method import MOST_DELTA
from jaxcert.cli import _console
from jaxcert.cli._app import check_outputs
from jaxcert.cli._lock_command import write_locked
from jaxcert.cli._options import (
    SUPPORT,
    RoleOptions,
    argument,
    columns_of,
    flag,
    option,
    options,
    reading_of,
    several,
    with_group,
    with_roles,
)
from jaxcert.cli._policies import PolicySource, read_all, sources_of
from jaxcert.cli._settings import as_stated
from jaxcert.planning import Plan, allocated, plan, plan_difference, plan_suite, success_table, task_table
from jaxcert.planning._designs import DESIGNS
from jaxcert.questions._ask import check_finished, check_others_finished
from jaxcert.report._protocol_check import protocol_of
from jaxcert.returns._required import sides_of
from jaxcert.tables import ReturnsFile
from jaxcert.tables._aligned import in_one_order

OF_SUCCESSES = [name for name, kind in DESIGNS.items() if kind.counts_successes]


@options
class Planning(NamedTuple):
    """Known, wanted and allowed numbers; a file for a protocol."""

    delta: float = option("D", "Failure probability of the certificate.", default=...)
    pilot: Path | None = argument(
        "[PILOT]",
        "A file of returns of some tasks, as for `jaxcert certify`; without it a table of the "
        f"tasks that safeties need; with --threshold and --design {' or '.join(OF_SUCCESSES)}, of successes by "
        "their trials.",
        default=None,
    )
    support: tuple[float, float] | None = SUPPORT
    threshold: float | None = option("X", "Performance to certify.")
    requirement: list[str] | None = option(
        "LINE", "In place of --threshold and --support, as in `jaxcert certify`, for columns of PILOT (repeatable)."
    )
    safety: list[Any] | None = several("S", "Wanted safety; several for the table")
    cost_per_task: float = option("C", "Cost of a task besides its rollouts, each of which costs 1.", default=0.0)
    power: float = option("P", "Wanted probability of the certificate.", default=0.9)
    max_rollouts: int = option("M", "Most rollouts per task to consider.", default=100)
    design: list[str] | None = option("NAME", f"Only these of {', '.join(DESIGNS)} (repeatable).")
    against: Path | None = option(
        "FILE",
        "Returns of another policy on the same tasks: how many tasks show that PILOT is better by --threshold "
        "on average.",
    )
    good: int | None = option(
        "G",
        "How many trials of each task certify that at least G of PILOT's own tasks, a fixed list, reach --threshold.",
        min=1,
    )
    suite: bool = flag(
        "Of two policies: how many trials of each task of their fixed list show that PILOT is better by --threshold "
        "(0) on average.",
        "--suite",
    )
    seed: int = option("S", "Seed of the resampling.", min=0, default=0)
    lock: Path | None = option("FILE", "Lock the best design of fixed rollouts in a protocol (.toml) for `certify`.")


_SAFETIES = [0.8, 0.9, 0.95, 0.99]
_TABLE, _NEW_TASKS = "a table (without PILOT)", "a plan for new tasks of one policy (PILOT)"
_LIST, _OF_TWO = "a plan for the tasks of PILOT (--good)", "a plan for two policies (--against, or --only A,B)"
_SIMULATED = {"support", "threshold", "power", "max_rollouts", "seed", *RoleOptions._fields} - {"strata"}
# The options that a plan takes, besides delta and PILOT.
_TAKEN = {
    _TABLE: {"threshold", "safety", "design"},
    _NEW_TASKS: _SIMULATED | {"requirement", "safety", "cost_per_task", "design", "lock", "strata"},
    _LIST: _SIMULATED | {"good"},
    _OF_TWO: _SIMULATED | {"against", "suite"},
}


@with_roles
@with_group("asked", Planning)
def command(*, asked: Planning, roles: dict[str, Any]) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    check_outputs([("PILOT", asked.pilot)], ("--lock", asked.lock), force=False)
    reading = reading_of(roles)
    policies = [] if asked.pilot is None else _policies(asked, reading)
    kind = _TABLE if not policies else _OF_TWO if policies[1:] else _NEW_TASKS if asked.good is None else _LIST
    _check_taken(kind, asked, roles)
    data = _pilots(asked, policies, reading)
    found = _planned(kind, asked, data, of_fixed=reading["strata"] is not None or asked.lock is not None)
    _show(found, data, asked, {name: roles[name] or None for name in ("task", "value", "strata")})


def _check_taken(kind: str, asked: Planning, roles: Mapping[str, Any]) -> None:
    """Raise ValueError for an option that this plan does not take, or one that it lacks."""
    usual = Planning()._asdict() | dict.fromkeys(roles)
    for name, value in (asked._asdict() | roles).items():
        if name not in {"delta", "pilot", *_TAKEN[kind]} and value != usual[name] and value != []:
            others = " or ".join(each for each, taken in _TAKEN.items() if name in taken)
            raise ValueError(f"--{name.replace('_', '-')} is given, which {kind} does not take; {others} does")
    if kind is _TABLE and asked.threshold is not None and not set(asked.design or [""]) <= set(OF_SUCCESSES):
        raise ValueError("--threshold needs PILOT")
    if kind is not _TABLE and asked.threshold is None and not (asked.requirement or asked.suite):
        raise ValueError("--threshold is not given; expected the performance to certify, or a difference of two")
    if kind is not _TABLE and asked.safety and len(asked.safety) > 1:
        raise ValueError("--safety is given several times; expected one with a pilot")
    if roles["strata"] is not None and not asked.delta <= MOST_DELTA:
        raise ValueError(f"--delta is {asked.delta:g}; for tasks drawn within strata at most {MOST_DELTA} is proved")


def _planned(kind: str, asked: Planning, data: Sequence[ReturnsFile], *, of_fixed: bool) -> Plan:
    """The plan; ``of_fixed``: of designs whose number of rollouts is fixed, as strata and protocols need them."""
    if kind is _TABLE:
        safeties = np.asarray(asked.safety or _SAFETIES)
        if asked.threshold is None:
            return task_table(safeties, delta=asked.delta)
        return success_table(safeties, threshold=asked.threshold, delta=asked.delta)
    stated: dict[str, Any] = {
        name: getattr(asked, name) for name in ("support", "delta", "power", "max_rollouts", "seed")
    }
    threshold = asked.threshold or 0.0
    if kind is _LIST:
        return plan_suite(data[0].returns, asked.good or 0, threshold, **stated)
    if kind is _OF_TWO:
        a, b = in_one_order(*data)
        return plan_difference(a.returns, b.returns, threshold, listed=asked.suite, **stated)
    known: Any = data[0].returns
    if asked.requirement:
        known = {name: each.returns for name, each in zip(_metrics(asked), data, strict=True)}
        stated["requirements"] = asked.requirement
    designs = asked.design or (_of_fixed_rollouts(known) if of_fixed and not asked.requirement else [])
    stated |= {name: getattr(asked, name) for name in ("threshold", "cost_per_task")}
    return plan(known, safety=(asked.safety or [None])[0], designs=tuple(designs) or None, **stated)


def _metrics(asked: Planning) -> list[str]:
    return [*dict.fromkeys(side.metric for side in sides_of(asked.requirement))]


def _of_fixed_rollouts(known: Any) -> list[str]:
    """The designs whose number of rollouts is fixed."""
    zeros = bool(np.isin(known, (0, 1)).all())
    return [name for name, kind in DESIGNS.items() if kind.stopped is None and kind.suits(zeros)]


def _pilots(asked: Planning, policies: Sequence[PolicySource], reading: dict[str, Any]) -> list[ReturnsFile]:
    """The returns of one or two policies, or of each metric, with equally many rollouts of each task."""
    supports: list[Any] = [asked.support] * len(policies)
    if asked.requirement:
        supports = [*{side.metric: side.support for side in sides_of(asked.requirement)}.values()]
        data = [policies[0].read(**columns) for columns in columns_of(_metrics(asked), reading)]
    else:
        data = as_stated(read_all(policies, **reading), asked.support) if policies else []
        check_others_finished(data[1:])
    for each, support in zip(data, supports, strict=True):
        check_finished(each, support, complete=bool(asked.requirement))  # as the certificate will ask
        if each.where is not None and not np.all(each.where):
            raise ValueError(
                f"{each.path}: some tasks have fewer rollouts than others; expected as many of each in a pilot"
            )
    return data


def _policies(asked: Planning, reading: dict[str, Any]) -> list[PolicySource]:
    """The pilot, and the policy against which it stands: another file, or other rows of the same one."""
    named = (reading["only"] or "").count(",")
    if named > 1:
        raise ValueError(f"--only names {named + 1} policies; expected one, or two for a plan of their difference")
    if named and asked.against is None:
        return sources_of([asked.pilot], reading)
    if asked.pilot == asked.against:
        raise ValueError("PILOT and --against are one file; of a table of policies expected --policy COLUMN --only A,B")
    return [PolicySource(file) for file in (asked.pilot, asked.against) if file is not None]


def _show(found: Plan, data: list[ReturnsFile], wanted: Planning, columns: dict[str, str | None]) -> None:
    """Print the plan, with how many tasks to draw from each stratum, and lock it if that is wanted."""
    drawn = {} if columns["strata"] is None else _drawn(found, data[0])
    _console.say(*_console.told(*data), str(found))
    if drawn:
        each = ", ".join(f"{count} from {label}" for label, count in drawn.items())
        _console.say(f"Of the {sum(drawn.values())} tasks draw {each}: as often as PILOT has them.")
    if wanted.lock:
        write_locked(wanted.lock, protocol_of(found, of_strata=drawn, **columns))


def _drawn(found: Plan, pilot: ReturnsFile) -> dict[str, int]:
    """How many tasks to draw from each stratum; ValueError if one has none, as nothing would be known of it."""
    if found.best is None or pilot.strata is None:
        return {}
    num_tasks = found.best.num_tasks
    parts = allocated(num_tasks, [str(label) for label in pilot.strata])
    if lacking := [label for label, count in parts.items() if not count]:
        raise ValueError(
            f"{num_tasks} tasks suffice, none of them from the stratum {lacking[0]!r:.40} if drawn as often as PILOT "
            "has them, so that nothing would be known of it; expected a larger --safety or --power"
        )
    return parts
