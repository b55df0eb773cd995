"""Options that several commands have."""

from typing import Annotated, Any

import typer

from jaxcert.certificates._level_choice import AUTO
from jaxcert.returns._rows import Columns

Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a file in which some tasks have fewer rollouts than others or that may be cut short (a task "
        "without any row cannot be noticed), and in `certify` data that look like a mistake.",
    ),
]
TaskColumn = Annotated[
    str | None,
    typer.Option("--task-column", metavar="NAME", help="Column of the tasks, in a table; by default task_id or task."),
]
EpisodeColumn = Annotated[
    str | None,
    typer.Option(
        "--episode-column",
        metavar="NAME",
        help="Column of the episodes, in a table; by default episode_id, or episode, trial, rollout or attempt; '' if "
        "it has none.",
    ),
]
ValueColumn = Annotated[
    str | None,
    typer.Option(
        "--value-column",
        metavar="NAME",
        help="Column of the returns, in a table; by default total_return, or return, score, success or passed.",
    ),
]
Stochastic = Annotated[
    bool, typer.Option("--stochastic", help="Sample actions instead of taking the mode of their distribution.")
]
CHECKPOINT = (
    "A folder of `jaxcert train` (its last checkpoint), one checkpoint of it, or a policy file (.npz); or a policy "
    "shipped with the package: "
)


def columns_of(task: str | None, episode: str | None, value: str | None) -> dict[str, Any]:
    """The columns by the names of `read_returns`, with its own where none is given."""
    given = {"task": task, "episode": episode, "value": value}
    found = Columns()._asdict() | {name: column for name, column in given.items() if column is not None}
    return {**found, "episode": found["episode"] or None}


def level(text: str) -> float | str:
    """The number, or the word for a choice from the data."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, or {AUTO!r}.") from None
