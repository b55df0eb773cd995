"""The kinds of files that are known, one line for each, and the way from a file's content to its returns."""

from pathlib import Path

from jaxcert.tables._roles import Roles
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._evalplus_results import EVALPLUS
from jaxcert.tables.formats._found_rollouts import Read, arranged
from jaxcert.tables.formats._inspect_log import INSPECT
from jaxcert.tables.formats._lerobot_info import LEROBOT
from jaxcert.tables.formats._one_task import EVALUATIONS, MONITOR, TRAINER
from jaxcert.tables.formats._recipes import RECIPES, recipe_in
from jaxcert.tables.formats._tau_results import TAU, TAU2

# Each recognises its own files by their content, whatever they are called, and none of another.
FORMATS = (*(each.format() for each in RECIPES), INSPECT, LEROBOT, TAU, TAU2, EVALPLUS)
# A file of these is one task; a folder of them is read with the tasks from their paths.
OF_ONE_TASK = (MONITOR, EVALUATIONS, TRAINER)
# How a log of `rollouts.Trials` begins.
_TRIALS = b'{"number": 0, "format": "jaxcert-trials-'


def read_content(path: Path, data: bytes, roles: Roles, *, own: bool) -> Read | None:
    """The returns of a file of another tool; None for a file of no known kind.

    Args:
        path: where it is, for what is said of a file of one task.
        data: its bytes.
        roles: what is read.
        own: whether the suffix is one of jaxcert's files: damage is no concern of ours then.

    Raises:
        ValueError: it is of a known kind, and damaged, changed, of one task, or without what is wanted.
    """
    if roles.records is not None:
        return None
    content = Content(data)
    if roles.recipe is not None:
        chosen = recipe_in(Path(roles.recipe)).format()
        if not chosen.recognises(content):
            raise ValueError(f"is not {chosen.name}: it lacks what the recipe {roles.recipe} recognises it by")
        return arranged(chosen.name, chosen.read(content), roles, fixed_list=chosen.fixed_list)
    if data.startswith(_TRIALS):
        raise ValueError("is a log of single trials; jaxcert trial status says what it certifies, and --json writes it")
    try:
        alone = next((each for each in OF_ONE_TASK if each.recognises(content)), None)
        kind = next((each for each in FORMATS if each.recognises(content)), None)
    except ValueError:
        if own:
            return None
        raise
    if alone is not None:
        raise ValueError(f"{alone.alone}; {_a_file_per_task(path)}")
    if kind is None:
        return None
    return arranged(kind.name, kind.read(content), roles, fixed_list=kind.fixed_list)


def _above(folder: Path) -> Path:
    """The folder that holds it, as it is named from where the command runs."""
    return folder.parent if folder.name not in ("", "..") else folder / ".."


def _a_file_per_task(path: Path) -> str:
    """How to read this file with other tasks: the label is in its name, if that has a part of its own."""
    own, dot, rest = path.name.partition(".")
    named = dot and "." in rest
    folder, pattern = (
        (path.parent, f"{{task}}.{rest}") if named and own else (_above(path.parent), f"{{task}}/{path.name}")
    )
    return (
        f"expected a file per task in a folder, whose paths name the tasks: read_returns({str(folder)!r}, "
        f"task={pattern!r}), or on the command line {str(folder)!r} --task-from-path {pattern!r}"
    )
