"""The kinds of files that are known, one line for each, and the way from a file's content to its returns."""

from pathlib import Path
from typing import Any

from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles
from jaxcert.tables.formats._found_rollouts import Content, arranged, kind_of
from jaxcert.tables.formats._inspect_logs import INSPECT
from jaxcert.tables.formats._one_task import OF_ONE_TASK, OneTask
from jaxcert.tables.formats._recipes import KNOWN, recipe_of

# Each recognises its own files by their content, whatever they are called, and none of another.
FORMATS = (*(each.format() for each in KNOWN), INSPECT)
# How a log of `rollouts.Trials` begins.
_LOGS = tuple(f'{{"number": 0, "format": "jaxcert-{kind}-'.encode() for kind in ("trials", "pairs"))


def read_content(path: Path, data: bytes, roles: Roles, *, own: bool) -> tuple[Returns, dict[str, Any]] | None:
    """Returns of another tool's file, with its other facts; None if no format recognises the file.

    ``own`` says that the suffix is one of jaxcert's files.
    """
    if roles.records is not None:
        return None
    if roles.recipe is not None:
        content = Content(data, of_lines=not {".jsonl", ".ndjson"}.isdisjoint(path.suffixes))
        kind = recipe_of(roles.recipe).format()
        if not kind.recognises(content):
            raise ValueError(f"is not {kind.name}: it lacks what its recipe recognises it by")
        return arranged(kind, kind.read(content), roles, is_known=False)
    if data.startswith(_LOGS):
        raise ValueError("is a log of single trials; jaxcert trial status says what it proves")
    content = Content(data)
    kind = kind_of(content, (*OF_ONE_TASK, *FORMATS), own=own)
    if isinstance(kind, OneTask):
        raise ValueError(f"{kind.alone}; {_a_file_per_task(path)}")
    return None if kind is None else arranged(kind, kind.read(content), roles)


def _a_file_per_task(path: Path) -> str:
    """How to read this file with other tasks: the label is in its name, if that has a part of its own."""
    own, dot, rest = path.name.partition(".")
    folder, pattern = path.parent, f"{{task}}.{rest}"
    if not (own and dot and "." in rest):  # the folder that holds its folder, as it is named from here
        folder, pattern = (folder.parent if folder.name not in ("", "..") else folder / ".."), f"{{task}}/{path.name}"
    return (
        f"expected a file per task in a folder, whose paths name the tasks: read_returns({str(folder)!r}, "
        f"task={pattern!r}), or on the command line {str(folder)!r} --task-from-path {pattern!r}"
    )
