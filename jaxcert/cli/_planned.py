"""Plans: from what is given to a table, and the files that are wanted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from jaxcert import align_tasks
from jaxcert._files import write_whole
from jaxcert.cli import _console, _tables
from jaxcert.cli._lock_command import write_locked
from jaxcert.cli._outputs import Force, check_new, check_outputs, write_plot, writing
from jaxcert.cli._reading import PolicySource, as_stated, read_two, told
from jaxcert.planning import (
    Assumptions,
    Plan,
    plan,
    plan_difference,
    plan_suite,
    success_table,
    task_table,
)
from jaxcert.planning._known_designs import DESIGNS
from jaxcert.planning._pilot import support_of
from jaxcert.report import plot_plan
from jaxcert.report._certifiable import protocol_of
from jaxcert.tables import ReturnsFile

OF_SUCCESSES = [name for name, kind in DESIGNS.items() if kind.counts_successes]
_SAFETIES = [0.8, 0.9, 0.95, 0.99]
_NO_SUPPORT = "--support is not given; expected the smallest and the largest possible return, 0 1 for successes"


class PlanOutputs(NamedTuple):
    """Which files are wanted: the result, the plot, and a protocol; and whether files that exist are replaced."""

    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there.")] = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what each number of rollouts leads to (.png, .svg, .pdf).")
    ] = None
    lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lock the best design in a protocol (.toml) for `certify`.")
    ] = None
    force: Force = False

    def check(self, pilot: Path | None) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        outputs = ("--json", self.json), ("--plot", self.plot), ("--lock", self.lock)
        check_outputs([("PILOT", pilot)], *outputs, force=self.force)
        check_new(self.lock, force=False)


def plan_list(
    pilot: Path | None, reading: dict[str, Any], num_good: int, threshold: float | None, **stated: Any
) -> tuple[Plan, list[str]]:
    """How many trials of each task of a fixed list certify so many of its tasks; and what is told of the file."""
    if pilot is None:
        raise ValueError("--suite needs PILOT, returns of the tasks of the list")
    if threshold is None:
        raise ValueError("--threshold is not given; expected the performance that makes a task of the list a good one")
    data = _pilots([pilot], reading, stated["support"])
    return plan_suite(data[0].returns, num_good, threshold, **stated), told(*data)


def plan_two(
    pilot: Path | None, against: Path, reading: dict[str, Any], margin: float | None, listed: int | None, **stated: Any
) -> tuple[Plan, list[str]]:
    """How many tasks show that the first policy is better than the second; or trials of a list, at most ``listed``."""
    if margin is None and listed is None:
        raise ValueError("--threshold is not given; expected the wanted difference of the two policies")
    assert pilot is not None
    data = _pilots([pilot, against], reading, stated["support"])
    a, b = align_tasks(*data)
    most = {} if listed is None else {"listed": True, "max_rollouts": listed}
    return plan_difference(a.returns, b.returns, margin or 0.0, **stated, **most), told(*data)


def plan_designs(
    pilot: Path | None,
    assume: tuple[float, float, float] | None,
    reading: dict[str, Any],
    *,
    quiet: bool,
    **stated: Any,
) -> tuple[Plan, list[str]]:
    """The best designs, from a pilot or from what is assumed; and what is told of the file."""
    with _console.progress(quiet) as show:
        show("reading")
        known, lines = _known(pilot, assume, reading, stated["support"])
        show("planning")
        return plan(known, **{**stated, "support": stated["support"] or (0, 1)}), lines


def table_of_tasks(
    safety: list[float] | None, threshold: float | None, designs: list[str] | None, *, delta: float, **stated: Any
) -> Plan:
    """The tasks that safeties need, or of successes at a threshold by their trials."""
    safeties = np.asarray(safety or _SAFETIES)
    if threshold is None:
        return task_table(safeties, delta=delta, **stated)
    if not designs or not set(designs) <= set(OF_SUCCESSES):
        raise ValueError("--threshold needs PILOT or --assume")
    return success_table(safeties, threshold=threshold, delta=delta)


def show_plan(found: Plan, wanted: PlanOutputs, lines: Sequence[str] = ()) -> None:
    """Write the wanted files, and print the plan."""
    show, is_wide = _console.output().print, found.wish is not None
    with writing() as write:
        if wanted.plot:
            write(write_plot, wanted.plot, plot_plan(found), replace=wanted.force)
        if wanted.json:
            write(write_whole, wanted.json, f"{found.to_json()}\n".encode(), replace=wanted.force)
        show(*filter(None, [found.heading, found.notice]), "", sep="\n")
        for line in lines:
            show(line)
        show(_tables.plain_table(found.table, is_wide=is_wide), *([""] * is_wide), soft_wrap=False, crop=False)
        for remark in found.remarks:
            show(remark)
        if wanted.lock:
            write(write_locked, wanted.lock, protocol_of(found))


def _known(
    pilot: Path | None, assume: tuple[float, float, float] | None, reading: dict[str, Any], support: Any
) -> tuple[Any, list[str]]:
    """The returns of a pilot, or what is assumed of them; and what is told of the file."""
    if pilot is not None and assume is not None:
        raise ValueError("PILOT and --assume are both given; expected one of them")
    if pilot is not None:
        data = _pilots([pilot], reading, support)
        return data[0].returns, told(*data)
    assert assume is not None
    if support is None:
        raise ValueError(_NO_SUPPORT)
    mean, of_tasks, of_rollouts = assume
    return Assumptions(mean, of_tasks, of_rollouts or None), []


def _pilots(files: list[Path], reading: dict[str, Any], support: Any) -> list[ReturnsFile]:
    """The returns of a policy, or of two: as many rollouts of each task, and a support that is known."""
    sources = list(map(PolicySource, files))
    data = as_stated(read_two(sources, **reading) if files[1:] else [sources[0].read(**reading)], support)
    for each in data:
        if each.where is not None and not np.all(each.where):
            raise ValueError(
                f"{each.path}: some tasks have fewer rollouts than others; expected as many of each in a pilot"
            )
    if support_of(data[0].returns, support) is None:
        raise ValueError(_NO_SUPPORT)
    return data
