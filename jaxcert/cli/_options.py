"""Options that several commands have: groups of them, numbers in lists, and the roles of columns."""

import functools
import inspect
import itertools
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import typer
from typer.models import ParameterInfo

from jaxcert.certificates._registry import AUTO
from jaxcert.tables import ReturnsFile
from jaxcert.tables._roles import Roles

Command = Callable[..., None]


def taking(
    name: str, options: Iterable[inspect.Parameter], made_of: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """A decorator that replaces the parameter of this name by the options on the command line.

    ``made_of``: turns the values of the options, by name, into the command's argument.
    """
    added = [*options]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            own = {each.name: given.pop(each.name) for each in added}
            command(**given, **{name: made_of(own)})

        plain = [each for each in inspect.signature(command).parameters.values() if each.name != name]
        wrapped.__dict__["__signature__"] = inspect.Signature([*plain, *added])
        wrapped.__annotations__ = {each.name: each.annotation for each in (*plain, *added)}
        return wrapped

    return decorate


def options_of(group: Any, *, without: Collection[str] = ()) -> list[inspect.Parameter]:
    """The options of a group, a NamedTuple with options as defaults; a command lacks those in ``without``."""
    kinds, given = get_type_hints(group), group._field_defaults.items()
    of_group = [(name, each) for name, each in given if isinstance(each, ParameterInfo) and name not in without]
    return [parameter(name, kinds[name], each) for name, each in of_group]


def parameter(name: str, kind: Any, given: Any) -> inspect.Parameter:
    """The parameter of a command that is this option, with values of this type."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=kind)


def options(group: Any) -> Any:
    """A decorator for a NamedTuple whose defaults are options; without arguments it takes the options' defaults."""
    usual = group._field_defaults.values()
    group.__new__.__defaults__ = tuple(each.default if isinstance(each, ParameterInfo) else each for each in usual)
    return group


def with_group(name: str, group: Any, **changes: Any) -> Callable[[Command], Command]:
    """A decorator for a command whose parameter of that name is a group of options; ``changes`` as ``options_of``."""
    return taking(name, options_of(group, **changes), lambda given: group(**given))


def option(metavar: str, text: str, *flags: str, default: Any = None, **more: Any) -> Any:
    """An option with a value, by the name of its parameter or by these flags; with the default ``...`` it is needed."""
    return typer.Option(default, *flags, metavar=metavar, help=text, **more)


def flag(text: str, *flags: str, default: Any = False) -> Any:
    """A flag, or an option whose help needs no name for its value."""
    return typer.Option(default, *flags, help=text)


def argument(metavar: str, text: str, default: Any = ...) -> Any:
    """A positional argument."""
    return typer.Argument(default, metavar=metavar, help=text, show_default=False)


def several(metavar: str, text: str, *flags: str) -> Any:
    """An option for several numbers, of type ``list[Any] | None``; `text` is its help, without a full stop."""
    return option(metavar, f"{text} (repeatable; also 1,2,5).", *flags, parser=_numbers, callback=_together)


def _numbers(text: str) -> list[float]:
    """The numbers of a value: one, or a list ``1,2,5``."""
    try:
        return [*map(float, text.split(","))]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number, nor a list of some with commas.") from None


def _together(values: list[list[float]] | None) -> list[float] | None:
    return [*itertools.chain.from_iterable(values)] if values else None


SUPPORT = option("A B", "Smallest and largest possible return, known in advance; not needed for successes.")
STRICT = flag(
    "Refuse a file in which some tasks have fewer rollouts than others or that may be cut short (a task "
    "without any row cannot be noticed), unread columns that may separate policies or conditions, and in "
    "`certify` data that look like a mistake.",
    "--strict",
)
IGNORE = option("NAME", "An unread column that --strict accepts (repeatable).")


def level(text: str) -> float | str:
    """The number, or the word for a choice from the data."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, or {AUTO!r}.") from None


class RoleOptions(NamedTuple):
    """The options by which a file is read."""

    task: str | None = option(
        "NAME",
        "Column of the tasks, in a table; by default task_id or task. Several, with commas, are the label "
        "together. For a folder with a file per task, the pattern of their paths, with {task} where the task's "
        "label stands, as in '{task}/monitor.csv' or '{task}.csv'; with {trial} where each file is one more run on "
        "all tasks.",
        "--task",
        "--task-from-path",
    )
    trial: str | None = option(
        "NAME",
        "Column of the trials, in a table; by default episode_id, or episode, trial, rollout or attempt; '' if it "
        "has none.",
    )
    value: str | None = option(
        "NAME",
        "Column of the outcomes, in a table; by default total_return, or return, score, success or passed; with "
        "--trials of the rate of success. Several, with commas, hold a trial each. In another tool's file, the "
        "name of the score; in an .npz file, of the array.",
    )
    successes: str | None = option("NAME", "Column that counts successes, with --trials.")
    trials: str | None = option("NAME", "Column that counts trials, with --successes, or --value for a rate.")
    where: list[str] | None = option(
        "TEXT",
        "Read only these rows of a table: 'arm = clean', 'arm != clean' or 'seed in 1, 2' (repeatable).",
    )
    policy: str | None = option("NAME", "Column of policies, in a table with several.")
    only: str | None = option(
        "NAME",
        "The policy to read, an entry of the --policy column; to compare, two or more with commas, in this order.",
    )
    strata: str | None = option(
        "NAME",
        "Column of the strata, with a fixed number of tasks drawn from each; the statement is about new tasks from "
        "all of them.",
    )
    unfinished: float | None = option(
        "X",
        "The return of a rollout without an outcome (blank, or a word such as abandoned or error), or marked by "
        "another tool as failed with an error, stopped at a limit or never run. Give the worst return, such as 0. "
        "By default, a file with such rollouts is refused.",
    )
    tasks: str | None = option("N", "Required number of tasks, or a file with their labels, one per line.")
    records: str | None = option(
        "PATH",
        "Path to the records in a JSON file, as data.runs or 'tasks.*.trials'; $1 holds the match of the first *.",
    )
    recipe: str | None = option("FILE", "A TOML file that describes the JSON files of another tool.")


# A decorator for a command with ``roles``: which options of the group were given, by the parameters of `read_returns`.
with_roles = taking("roles", options_of(RoleOptions), dict)


def reading_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The roles by the parameters of `read_returns`, with its defaults if none is given."""
    usual = {name: value for name, value in Roles()._asdict().items() if name in RoleOptions._fields}
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


def checked_columns(files: Sequence[ReturnsFile], *, strict: bool, ignored: Sequence[str] | None) -> list[ReturnsFile]:
    """The files; with ``strict``, ValueError for columns that may separate policies, and are not read or ignored."""
    for file in files if strict else ():
        if names := [name for name in unread_of(file, files) if name not in (ignored or ())]:
            raise ValueError(
                f"{file._name}: not read: {printed(names)}, in which policies or conditions may differ; "
                "expected --where or --policy, or --ignore for a column that tells none apart"
            )
    return list(files)


def unread_of(file: ReturnsFile, files: Sequence[ReturnsFile]) -> list[str]:
    """Columns of a file that may separate policies, and are not read from any of the files."""
    read = {each.columns.value for each in files if each.columns}
    return [name for name in file.unread if name not in read]


def printed(names: Sequence[str]) -> str:
    """All of them, on one line."""
    return ", ".join("".join(each if each.isprintable() else "?" for each in name) for name in names)


def in_shell(command: str, files: Iterable[str | Path], options: Iterable[str]) -> str:
    """A command with these files and options, to be typed in a shell."""
    return shlex.join(["jaxcert", command, *map(no_option, files), *options])


def no_option(file: str | Path) -> str:
    """The name of a file, which is no option whatever it begins with."""
    return f"./{file}" if str(file).startswith("-") else str(file)
