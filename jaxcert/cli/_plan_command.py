"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._method import MOST_DELTA
from jaxcert.cli import _console
from jaxcert.cli._lock_command import write_locked
from jaxcert.cli._options import (
    SUPPORT,
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
from jaxcert.cli._outputs import check_outputs
from jaxcert.cli._reading import PolicySource, as_stated, read_all, sources_of, told
from jaxcert.planning import Plan, allocated, plan, plan_difference, plan_suite, success_table, task_table
from jaxcert.planning._designs import DESIGNS
from jaxcert.planning._pilot import support_of
from jaxcert.questions._ask import check_others_finished
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
    budget: float | None = option("C", "What may be spent in all, where a rollout costs 1.")
    cost_per_task: float = option("C", "Cost of a task besides its rollouts.", default=0.0)
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

    @property
    def stated(self) -> dict[str, Any]:
        """The arguments of every plan from a pilot."""
        return {name: getattr(self, name) for name in ("support", "delta", "power", "seed")}

    def refuse(self, *names: str, words: str) -> None:
        """Raise ValueError for an option that this plan does not use."""
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(words.format(name=name))


_SAFETIES = [0.8, 0.9, 0.95, 0.99]
_NO_SUPPORT = "--support is not given; expected the smallest and the largest possible return, 0 1 for successes"
_NO_THRESHOLD = "--threshold is not given; expected the"
_OF_DESIGNS = ("safety", "requirement", "budget", "design", "lock")
_BESIDE = "--{{name}} is given with --{}, which {}; expected --threshold alone"
# A plan, and the returns that it is based on.
Planned = tuple[Plan, list[ReturnsFile]]


@with_roles
@with_group("asked", Planning)
def command(*, asked: Planning, roles: dict[str, Any]) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    check_outputs([("PILOT", asked.pilot)], ("--lock", asked.lock), force=False)
    reading = reading_of(roles)
    if asked.pilot is None:
        asked.refuse("requirement", "against", "good", words="--{name} needs PILOT")
    if reading["strata"] is not None:
        _check_strata(asked)
    if reading["unfinished"] is not None and asked.pilot is None:
        raise ValueError("--unfinished is about rollouts of PILOT; expected its file")
    policies = [] if asked.pilot is None else _policies(asked, reading)
    is_of_two = len(policies) > 1
    if asked.suite and not is_of_two:
        raise ValueError("--suite is for two policies; expected --against as well, or --good G for PILOT alone")
    if asked.good is not None and is_of_two:
        raise ValueError("--good counts the tasks of PILOT alone; expected no other policy")
    with _console.progress() as show:
        show("planning")
        if asked.good is not None:
            found, data = _of_list(asked, policies, reading)
        elif asked.pilot is None:
            found, data = _table_of_tasks(asked), []
        else:
            found, data = (_of_two if is_of_two else _of_designs)(asked, policies, reading)
    _show(found, data, asked, {name: roles[name] or None for name in ("task", "value", "strata")})


def _check_strata(asked: Planning) -> None:
    """Raise ValueError for a plan that is of no tasks from strata."""
    wanted = asked.requirement or asked.threshold
    if asked.pilot is None or wanted is None or asked.good is not None or asked.against is not None:
        raise ValueError("--strata is given; expected PILOT and --threshold, for new tasks of one policy")
    if not asked.delta <= MOST_DELTA:
        raise ValueError(f"--delta is {asked.delta:g}; for tasks drawn within strata at most {MOST_DELTA} is proved")


def _of_list(asked: Planning, policies: Sequence[PolicySource], reading: dict[str, Any]) -> Planned:
    """How many trials of each task of a fixed list certify the wanted number of tasks."""
    asked.refuse(*_OF_DESIGNS, words=_BESIDE.format("good", "counts the tasks of PILOT"))
    if asked.threshold is None:
        raise ValueError(f"{_NO_THRESHOLD} performance that makes a task of the list a good one")
    data = _pilots(asked, policies, reading)
    stated: dict[str, Any] = asked.stated | {"max_rollouts": asked.max_rollouts}
    return plan_suite(data[0].returns, asked.good or 0, asked.threshold, **stated), data


def _of_two(asked: Planning, policies: Sequence[PolicySource], reading: dict[str, Any]) -> Planned:
    """How many tasks, or trials of a list, show that the first policy is better than the second."""
    asked.refuse(*_OF_DESIGNS, words=_BESIDE.format("against", "compares means"))
    if asked.threshold is None and not asked.suite:
        raise ValueError(f"{_NO_THRESHOLD} wanted difference of the two policies")
    data, of_list = _pilots(asked, policies, reading), {"listed": True, "max_rollouts": asked.max_rollouts}
    (a, b), listed = in_one_order(*data), of_list if asked.suite else {}
    return plan_difference(a.returns, b.returns, asked.threshold or 0.0, **asked.stated, **listed), data


def _of_designs(asked: Planning, policies: Sequence[PolicySource], reading: dict[str, Any]) -> Planned:
    """The best designs, from a pilot."""
    if asked.safety and len(asked.safety) > 1:
        raise ValueError("--safety is given several times; expected one with a pilot")
    if asked.requirement:
        asked.refuse("support", "threshold", words="--{name} is given; --requirement has its own")
    data = _pilots(asked, policies, reading)
    others = ("threshold", "max_rollouts", "budget", "cost_per_task")
    stated = {**asked.stated, **{name: getattr(asked, name) for name in others}}
    stated["safety"], known = asked.safety[0] if asked.safety else None, data[0].returns
    if asked.requirement:
        known = {name: each.returns for name, each in zip(_metrics(asked), data, strict=True)}
        stated["requirements"] = asked.requirement
    is_fixed = (reading["strata"] is not None or asked.lock is not None) and not asked.requirement
    designs = asked.design or (_of_fixed_rollouts(known) if is_fixed else [])
    return plan(known, **stated, designs=tuple(designs) or None), data


def _metrics(asked: Planning) -> list[str]:
    return [*dict.fromkeys(side.metric for side in sides_of(asked.requirement))]


def _of_fixed_rollouts(known: Any) -> list[str]:
    """The designs that strata, and protocols, allow: those whose number of rollouts is fixed."""
    zeros = bool(np.isin(known, (0, 1)).all())
    return [name for name, kind in DESIGNS.items() if kind.stopped is None and kind.suits(zeros)]


def _table_of_tasks(asked: Planning) -> Plan:
    """A table of the tasks that safeties need; for successes at a threshold, by the number of trials."""
    asked.refuse("budget", "lock", words="--{name} needs PILOT")
    safeties, designs = np.asarray(asked.safety or _SAFETIES), asked.design
    if asked.threshold is None:
        return task_table(safeties, delta=asked.delta)
    if not designs or not set(designs) <= set(OF_SUCCESSES):
        raise ValueError("--threshold needs PILOT")
    return success_table(safeties, threshold=asked.threshold, delta=asked.delta)


def _pilots(asked: Planning, policies: Sequence[PolicySource], reading: dict[str, Any]) -> list[ReturnsFile]:
    """The returns of one or two policies, with equally many rollouts of each task and a known support."""
    if asked.requirement:
        data = [policies[0].read(**columns) for columns in columns_of(_metrics(asked), reading)]
    else:
        data = as_stated(read_all(policies, **reading), asked.support)
        check_others_finished(data[1:])
    for each in data:
        if each.where is not None and not np.all(each.where):
            raise ValueError(
                f"{each.path}: some tasks have fewer rollouts than others; expected as many of each in a pilot"
            )
    if not asked.requirement and support_of(data[0].returns, asked.support) is None:
        raise ValueError(_NO_SUPPORT)
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
    _console.say(*filter(None, [found.heading, found.notice]), *told(*data))
    _console.show_table(_console.plain_table(found.table))
    _console.say(*found.remarks)
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
