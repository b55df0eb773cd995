"""The options that give columns of a table their roles, shared by all commands that read returns."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxcert.cli._options import option, parameter, taking
from jaxcert.tables._columns import Columns
from jaxcert.tables._roles import Roles

# The metavar and the help of each option, and its type and flags if they are not text and the name.
_OPTIONS = {
    "task": (
        "NAME",
        "Column of the tasks, in a table; by default task_id or task. Several, with commas, are the label together. "
        "For a folder with a file per task, the pattern of their paths, with {task} where the task's label stands, as "
        "in '{task}/monitor.csv' or '{task}.csv'; with {trial} where each file is one more run on all tasks.",
    ),
    "trial": (
        "NAME",
        "Column of the trials, in a table; by default episode_id, or episode, trial, rollout or attempt; '' if it has "
        "none.",
    ),
    "value": (
        "NAME",
        "Column of the outcomes, in a table; by default total_return, or return, score, success or passed; with "
        "--trials of the rate of success. Several, with commas, hold a trial each. In another tool's file, the name of "
        "the score; in an .npz file, of the array.",
    ),
    "successes": ("NAME", "Column that counts successes, with --trials."),
    "trials": ("NAME", "Column that counts trials, with --successes, or --value for a rate."),
    "where": (
        "TEXT",
        "Read only these rows of a table: 'arm = clean', 'arm != clean' or 'seed in 1, 2' (repeatable).",
    ),
    "policy": ("NAME", "Column of policies, in a table with several."),
    "only": ("NAME", "The policy to read, an entry of the --policy column."),
    "strata": (
        "NAME",
        "Column of the strata, with a fixed number of tasks drawn from each; the statement is about new tasks from "
        "all of them.",
    ),
    "unfinished": (
        "X",
        "The return of a rollout without an outcome (blank, or a word such as abandoned or error), or marked "
        "by another tool as failed with an error, stopped at a limit or never run. Give the worst return, such as 0. "
        "By default, a file with such rollouts is refused.",
    ),
    "tasks": ("N", "Required number of tasks, or a file with their labels, one per line."),
    "records": (
        "PATH",
        "Path to the records in a JSON file, as data.runs or 'tasks.*.trials'; $1 holds the match of the first *.",
    ),
    "recipe": ("FILE", "A TOML file that describes the JSON files of another tool."),
}
_KINDS, _FLAGS = {"where": list[str], "unfinished": float}, {"task": ("--task", "--task-from-path")}


def _option(name: str) -> Any:
    metavar, words = _OPTIONS[name]
    return option(metavar, words, *_FLAGS.get(name, [f"--{name}"]))


# For commands that read less than a file of returns.
TASK, VALUE = _option("task"), _option("value")

# A decorator for a command with ``roles``: which options of the group were given, by the parameters of `read_returns`.
with_roles = taking("roles", [parameter(name, _KINDS.get(name, str) | None, _option(name)) for name in _OPTIONS], dict)


def reading_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The roles by the parameters of `read_returns`, with its defaults if none is given."""
    usual = {name: value for name, value in Roles()._asdict().items() if name in _OPTIONS}
    found = usual | {name: value for name, value in given.items() if value is not None}
    return {**found, "trial": found["trial"] or None, "where": tuple(found["where"])}


def columns_of(metrics: Sequence[str], reading: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The roles with which each metric's column is read; for returns, the given roles."""
    if not metrics:
        return [dict(reading)]
    usual = Roles()._asdict()
    if given := [f"--{name}" for name in ("value", "successes", "trials") if reading[name] != usual[name]]:
        raise ValueError(f"{' and '.join(given)} given; --requirement already names the outcome columns")
    return [{**reading, "value": name, "metric": True} for name in metrics]


def columns_in(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The three columns among the roles."""
    return {name: reading[name] for name in Columns._fields}


def others_given(given: Mapping[str, Any]) -> list[str]:
    """The options that were given, without the three columns."""
    return [f"--{name}" for name in _OPTIONS if name not in Columns._fields and given.get(name) not in (None, ())]


def words_of(given: Mapping[str, Any]) -> list[str]:
    """The options that were given, as they are typed."""
    words = []
    for name, value in given.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [] if each is None else [role_option(name, each), f"{each:g}" if isinstance(each, float) else each]
    return words


def role_option(name: str, value: Any) -> str:
    """The option of a role; for the tasks of a folder, the option for paths."""
    return "--task-from-path" if name == "task" and "{" in f"{value or ''}" else f"--{name}"
