"""`jaxcert choose`: what a file of returns holds, and what can be asked of it; no certificate is computed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.cli import _console
from jaxcert.cli._choices import Choice, choices, elsewhere, facts
from jaxcert.cli._parquet_folder import refuse_parquet_folder
from jaxcert.cli._reading import as_stated, read_file
from jaxcert.cli._role_options import reading_of, with_roles
from jaxcert.tables import ReturnsFile, align_tasks

_NEW = "If the tasks were drawn at random from those that new ones come from:"
_LISTED = "If the tasks are a fixed list, all of which was run, and that list alone counts:"
_OF_MANY = "What follows is about each policy, a file for each, and about their order."
_OF_TWO = "What follows is about the performance of policy A, the first file, minus that of policy B on the same task."
_ONE_EACH = "One rollout says little of its task: of such files, the mean and the next episode are worth asking."
_BEFOREHAND = (
    "X, LOW and HIGH are yours to fill in, from what is wanted and what is possible, before a look at the returns: "
    "none is shown here, since a number that is chosen by them is not certified. LOW and HIGH are the smallest and the "
    "largest return that can occur; delta 0.05 means confidence 0.95. --complete declares that no rollout was "
    "cut short."
)


@with_roles
def choose(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Returns, a file as for `jaxcert certify`.")],
    others: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[OTHER]...", help="Returns of other policies on the same tasks.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write it to stdout as JSON, for machines.")] = False,
    *,
    roles: dict[str, Any],
) -> None:
    """Say what FILE holds and what can be asked of it, each with its command; with OTHER, of all policies together."""
    paths = [file, *(others or [])]
    if roles["unfinished"] is not None and len(paths) > 1:
        raise ValueError("--unfinished is given; of several policies, it counts for A alone: jaxcert compare --help")
    with _console.warnings_on_stderr():
        for path in paths:
            refuse_parquet_folder(path, roles)
        files = as_stated([read_file(path, **reading_of(roles)) for path in paths], None)
    if len(files) > 1:
        align_tasks(*files)
    found = choices(files, roles)
    if as_json:
        print(json.dumps(_document(files, found), indent=2))
    else:
        _print(files, found)


def _document(files: Sequence[ReturnsFile], found: Sequence[Choice]) -> dict[str, list]:
    others = [{"name": question.name, "words": question.words, "where": where} for question, where in elsewhere(files)]
    held = [
        {
            "path": str(each.path),
            "num_tasks": len(each.tasks),
            "num_rollouts": _range(each.num_rollouts),
            "told": each.told,
        }
        for each in files
    ]
    return {"files": held, "questions": [one._asdict() for one in found], "elsewhere": others}


def _range(counts: np.ndarray) -> dict[str, int]:
    return {"min": int(counts.min()), "max": int(counts.max()), "total": int(counts.sum())}


def _print(files: Sequence[ReturnsFile], found: Sequence[Choice]) -> None:
    show = _console.output().print
    for file in files:
        show("\n".join(facts(file)))
    if len(files) > 1:
        show(f"\n{_OF_TWO if len(files) == 2 else _OF_MANY}")
    for listed in dict.fromkeys(choice.listed for choice in found):
        show(f"\n{_LISTED if listed else _NEW}")
        for choice in found:
            if choice.listed == listed:
                show(f"\n  {choice.words}")
                print(f"    {choice.command}")  # in one line, to be copied
    if others := list(elsewhere(files)):
        show("\nAsked elsewhere:\n")
    for question, where in others:
        show(f"  {question.words} ({where})")
    if all(int(each.num_rollouts.max()) == 1 for each in files):
        show(f"\n{_ONE_EACH}")
    show(f"\n{_BEFOREHAND}")
