"""Plans: from what is given to a table, and the files that are wanted."""

import json as json_format
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert import align_tasks
from jaxcert._files import check_output, write_whole
from jaxcert.cli import _console, _tables
from jaxcert.cli._lock_command import protocol_of, write_locked
from jaxcert.cli._options import write_plot
from jaxcert.cli._reading import PolicySource, as_stated, read_file, read_two, told
from jaxcert.cli._settled import Writing, check_distinct, check_new
from jaxcert.planning import (
    Assumptions,
    DifferencePlan,
    Plan,
    SuccessTable,
    SuitePlan,
    TaskTable,
    plan,
    plan_difference,
    plan_suite,
    success_table,
    task_table,
)
from jaxcert.planning._design import DESIGNS
from jaxcert.planning._pilot import support_of
from jaxcert.report import check_figure_path, plot_plan
from jaxcert.tables import ReturnsFile

OF_SUCCESSES = [name for name, kind in DESIGNS.items() if kind.counts_successes]
_SAFETIES = [0.8, 0.9, 0.95, 0.99]
_NO_SUPPORT = "--support is not given; expected the smallest and the largest possible return, 0 1 for successes"


class PlanOutputs(NamedTuple):
    """Which files are wanted: the result, the plot, and a protocol; and whether files that exist are replaced."""

    json: Path | None
    plot: Path | None
    lock: Path | None
    force: bool

    def check(self, pilot: Path | None) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        for path in (self.json, self.lock):
            if path:
                check_output(path)
        if self.plot:
            check_figure_path(self.plot)
        check_distinct(("PILOT", pilot), ("--json", self.json), ("--plot", self.plot), ("--lock", self.lock))
        check_new(self.json, self.plot, force=self.force)
        check_new(self.lock, force=False)

    def write(self, document: dict[str, Any]) -> None:
        """Write the result, if it is wanted."""
        if self.json:
            text = json_format.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
            write_whole(self.json, f"{text}\n".encode(), replace=self.force)


def plan_list(
    pilot: Path | None,
    reading: dict[str, Any],
    num_good: int,
    threshold: float | None,
    wanted: PlanOutputs,
    **stated: Any,
) -> None:
    """How many trials of each task of a fixed list certify so many of its tasks."""
    if pilot is None:
        raise ValueError("--suite needs PILOT, returns of the tasks of the list")
    if threshold is None:
        raise ValueError("--threshold is not given; expected the performance that makes a task of the list a good one")
    data = _complete(pilot, read_file(pilot, **reading).without_support(stated["support"]))
    if support_of(data.returns, stated["support"]) is None:
        raise ValueError(_NO_SUPPORT)
    with _console.warnings_on_stderr():
        found = plan_suite(data.returns, num_good, threshold, **stated)
    wanted.write(found.to_dict())
    _print_found(f"Wanted: {found.wish}", told(data), found)


def plan_two(
    files: tuple[Path, Path],
    reading: dict[str, Any],
    margin: float | None,
    wanted: PlanOutputs,
    **stated: Any,
) -> None:
    """How many tasks show that the first policy is better than the second."""
    if margin is None:
        raise ValueError("--threshold is not given; expected the wanted difference of the two policies")
    both = as_stated(read_two(list(map(PolicySource, files)), **reading), stated["support"])
    data = [_complete(each.path, each) for each in both]
    a, b = align_tasks(*data)
    if support_of(a.returns, stated["support"]) is None:
        raise ValueError(_NO_SUPPORT)
    with _console.warnings_on_stderr():
        found = plan_difference(a.returns, b.returns, margin, **stated)
    wanted.write(found.to_dict())
    heading, *_ = str(found).splitlines()
    _print_found(heading, told(*data), found)


def plan_designs(
    pilot: Path | None,
    assume: tuple[float, float, float] | None,
    reading: dict[str, Any],
    wanted: PlanOutputs,
    *,
    quiet: bool,
    **stated: Any,
) -> None:
    """The best designs, from a pilot or from what is assumed."""
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        known, lines = _known(pilot, assume, stated["support"], **reading)
        if support_of(known, stated["support"]) is None:
            raise ValueError(_NO_SUPPORT)
        show("planning")
        found = plan(known, **{**stated, "support": stated["support"] or (0, 1)})
        written = Writing()
        if wanted.plot:
            written.attempt(write_plot, wanted.plot, plot_plan(found), replace=wanted.force)
        written.attempt(wanted.write, json_format.loads(found.to_json()))
    _print_plan(found, lines)
    if wanted.lock:
        written.attempt(write_locked, wanted.lock, protocol_of(found))
    written.check()


def print_table(
    wanted: PlanOutputs,
    safety: list[float] | None,
    threshold: float | None,
    designs: list[str] | None,
    *,
    delta: float,
    **stated: Any,
) -> None:
    """The tasks that safeties need, or of successes at a threshold by their trials."""
    safeties = np.asarray(safety or _SAFETIES)
    if threshold is not None and designs and set(designs) <= set(OF_SUCCESSES):
        table = success_table(safeties, threshold=threshold, delta=delta)
    else:
        if threshold is not None:
            raise ValueError("--threshold needs PILOT or --assume")
        table = task_table(safeties, delta=delta, **stated)
    wanted.write(table.to_dict())
    _print_table(table)


def _print_found(heading: str, lines: list[str], found: DifferencePlan | SuitePlan) -> None:
    console = _console.output()
    console.print(heading, "")
    for line in lines:
        console.print(line)
    console.print(_tables.plain_table(found.columns()), soft_wrap=False, crop=False)
    for remark in found.remarks():
        console.print(remark)


def _known(
    pilot: Path | None, assume: tuple[float, float, float] | None, support: Any, **columns: Any
) -> tuple[Any, list[str]]:
    """The returns of a pilot, or what is assumed of them; and what is told of the file."""
    if pilot is not None and assume is not None:
        raise ValueError("PILOT and --assume are both given; expected one of them")
    if assume is not None:
        mean, of_tasks, of_rollouts = assume
        return Assumptions(mean, of_tasks, of_rollouts or None), []
    assert pilot is not None
    data = _complete(pilot, read_file(pilot, **columns).without_support(support))
    return data.returns, told(data)


def _complete(file: Path, data: ReturnsFile) -> ReturnsFile:
    if data.where is not None and not np.all(data.where):
        raise ValueError(f"{file}: some tasks have fewer rollouts than others; expected as many of each in a pilot")
    return data


def _print_table(table: TaskTable | SuccessTable) -> None:
    console = _console.output()
    if isinstance(table, SuccessTable):
        how, said = f" at {table.threshold:g}, by trials of each; delta {table.delta:g}", table.remarks()
    else:
        beta = "its default" if table.beta is None else f"{table.beta:g}"
        how, said = f", by violations; delta {table.delta:g}, beta {beta}", []
    console.print(f"The fewest tasks that certify a safety{how}", "")
    console.print(_tables.plain_table(table.columns()), soft_wrap=False, crop=False)
    for remark in said:
        console.print(remark)


def _print_plan(found: Plan, lines: list[str]) -> None:
    console = _console.output()
    console.print(f"Wanted: {found.wish}", "")
    for line in lines:
        console.print(line)
    console.print(_tables.plain_table(found.columns(), is_wide=True), "", soft_wrap=False, crop=False)
    for remark in found.remarks():
        console.print(remark)
