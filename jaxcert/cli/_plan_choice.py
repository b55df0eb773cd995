"""Which plan is asked for by the options of `jaxcert plan`, and which of them it has no use for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxcert.cli._planned import PlanOutputs, plan_designs, plan_list, plan_two, print_table

# Options of a table alone, of designs alone, and of any plan that is made from returns.
_OF_TABLES = ("beta", "max_violations")
_OF_DESIGNS = ("budget", "cost_per_task", "cost_per_rollout", "max_rollouts")
_OF_RETURNS = ("support", "delta", "power", "seed")


def plan_asked(
    pilot: Path | None, given: Mapping[str, Any], reading: dict[str, Any], wanted: PlanOutputs, *, quiet: bool
) -> None:
    """Plan for a fixed list, for two policies, or by the best designs; without returns, print a table.

    ``given``: every option by its name; ``reading``: how a file of returns is read.
    """
    wanted.check(pilot)
    if reading["unfinished"] is not None and pilot is None:
        raise ValueError("--unfinished is about rollouts of PILOT; expected its file")
    others = {name: given[name] for name in ("safety", "budget", "assume", "design")}
    others |= {"plot": wanted.plot, "lock": wanted.lock}
    stated, threshold, against = {name: given[name] for name in _OF_RETURNS}, given["threshold"], given["against"]
    num_good = given["suite"]
    if num_good is not None:
        _refuse_beside("suite", "counts the tasks of PILOT", **others, against=against, beta=given["beta"])
        plan_list(pilot, reading, num_good, threshold, wanted, **stated, max_rollouts=given["max_rollouts"])
    elif pilot is None and given["assume"] is None:
        _refuse_for_a_table(budget=given["budget"], plot=wanted.plot, lock=wanted.lock, against=against)
        levels = {name: given[name] for name in _OF_TABLES}
        print_table(wanted, given["safety"], threshold, given["design"], delta=given["delta"], **levels)
    elif against is not None:
        _refuse_beside("against", "compares means", **others, beta=given["beta"])
        assert pilot is not None
        plan_two((pilot, against), reading, threshold, wanted, **stated)
    else:
        if given["beta"] is not None:
            raise ValueError("--beta is for the table; with a pilot, beta belongs to the plan")
        stated |= {name: given[name] for name in _OF_DESIGNS} | {"threshold": threshold}
        stated |= {"safety": _only(given["safety"]), "designs": tuple(given["design"] or ()) or None}
        plan_designs(pilot, given["assume"], reading, wanted, quiet=quiet, **stated)


def _refuse_for_a_table(**options: Any) -> None:
    """Raise ValueError for an option that a table without returns has no use for."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name} needs PILOT or --assume")


def _refuse_beside(option: str, what: str, **others: Any) -> None:
    """Raise ValueError for an option that has no place beside another one."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"--{name} is given with --{option}, which {what}; expected --threshold alone")


def _only(safety: list[float] | None) -> float | None:
    """The one safety that is wanted with a pilot."""
    if safety and len(safety) > 1:
        raise ValueError("--safety is given several times; expected one with a pilot")
    return safety[0] if safety else None
