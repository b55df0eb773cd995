"""A set of files, one or several for each task, read as one table: the task's label stands in the path."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxcert._files import content_of, in_file
from jaxcert.tables._columns import Columns, NotNamedError, as_totals
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._found_rollouts import Read, Rollouts, arranged
from jaxcert.tables.formats._one_task import Episodes, OneTask
from jaxcert.tables.formats._registry import OF_ONE_TASK

PLACE = "{task}"
_WILD = "*"
# As the tools place their files.
_USUAL = (f"{PLACE}/monitor.csv", f"{PLACE}/evaluations.npz", f"{PLACE}.monitor.csv")


def read_folder(folder: Path, wanted: Columns, unfinished: float | None) -> tuple[Read, str]:
    """The returns of all files of a folder whose paths fit ``wanted.task``, and the digest of their list.

    The digest is the SHA-256 of the list of files that ``sha256sum`` gives, in the order of their paths.

    Raises:
        ValueError: the pattern or a file does not fit, or the files are of several kinds or stages.
    """
    with in_file(folder):
        if wanted.task == Columns().task:
            raise _not_named(folder)
        pattern = _checked(wanted.task)
        labels = _labels(folder, wanted.task, pattern)
    contents = {name: content_of(folder / name, "episodes") for name in labels}
    kinds, parts = zip(*(_episodes(folder / name, Content(data)) for name, data in contents.items()), strict=True)
    with in_file(folder):
        found = _together(wanted.task, labels, parts, kinds)
        read = arranged(kinds[0].name, found, wanted, unfinished, fixed_list=False)
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()]
    return read, hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _checked(pattern: str) -> re.Pattern[str]:
    """The expression for paths that fit, with the task's label as its group."""
    names = pattern.split("/")
    if PLACE not in pattern and len(names) == 1:  # as of a column
        raise ValueError(
            f"is a directory, expected a file; or as task, which is {pattern!r}, a path within it with {PLACE} for the "
            f"task, such as '{_USUAL[0]}'"
        )
    if pattern.count(PLACE) != 1 or any(name in ("", ".", "..") or "**" in name for name in names):
        raise ValueError(
            f"the pattern of its files is {pattern!r}; expected a path within it with {PLACE} once, such as "
            f"'{_USUAL[0]}'"
        )
    return re.compile("/".join(map(_of_name, names)))


def _not_named(folder: Path) -> ValueError:
    """A folder is given where a file is expected, or the pattern of its files is missing."""
    usual = next((each for each in _USUAL if any(folder.glob(each.replace(PLACE, _WILD)))), None)
    if usual is None:
        return ValueError("is a directory, expected a file")
    message = f"is a directory, expected a file, or as task the pattern of its files, here {usual!r}"
    return NotNamedError(message, {"task": usual})


def _of_name(name: str) -> str:
    """The expression for one name of a path: what begins with a wildcard fits no hidden file."""
    hidden = "" if name[0] not in (_WILD, PLACE[0]) else r"(?!\.)"
    found = re.escape(name).replace(re.escape(PLACE), "([^/]+)").replace(re.escape(_WILD), "[^/]*")
    return hidden + found


def _labels(folder: Path, task: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """The tasks of the paths within the folder that fit, in their order; links are followed."""
    wild = task.replace("[", "[[]").replace("?", "[?]").replace(PLACE, _WILD)
    paths = (path.relative_to(folder).as_posix() for path in folder.glob(wild) if path.is_file())
    found = {path: match[1] for path in sorted(paths) if (match := pattern.fullmatch(path))}
    if not found:
        raise ValueError(f"has no file {task!r}; expected one or several for each task")
    return found


def _episodes(path: Path, content: Content) -> tuple[OneTask, Episodes]:
    with in_file(path):
        kind = next((each for each in OF_ONE_TASK if each.recognises(content)), None)
        if kind is None:
            raise ValueError(f"holds none of {' and '.join(each.name for each in OF_ONE_TASK)}; expected one of these")
        found = kind.read(content)
        if not found.values[found.usual]:
            raise ValueError("has no episode; expected at least one")
        as_totals(np.asarray(found.values[found.usual], object), found.usual)  # here, a row is one of this file
        return kind, found


def _together(task: str, labels: dict[str, str], parts: Sequence[Episodes], kinds: Sequence[OneTask]) -> Rollouts:
    """The episodes of all files, each beside its task; ``labels`` gives the tasks by the names of the files."""
    first, *_ = parts
    for name, part, kind in zip(labels, parts, kinds, strict=True):
        _check_alike((next(iter(labels)), first, kinds[0]), (name, part, kind))
    lengths = [len(part.values[part.usual]) for part in parts]
    repeated = zip(labels.values(), lengths, strict=True)
    return Rollouts(
        columns=Columns(task, None, first.usual),
        tasks=[label for label, length in repeated for _ in range(length)],
        episodes=[None] * sum(lengths),
        values={value: [entry for part in parts for entry in part.values[value]] for value in first.values},
        told=f"{len(parts)} files of {len({*labels.values()})} tasks",
        ended=[""] * sum(lengths),
        remark=kinds[0].remark,
    )


def _check_alike(a: tuple[str, Episodes, OneTask], b: tuple[str, Episodes, OneTask]) -> None:
    """Refuse files of several kinds, with other values, or of policies that were trained for other times."""
    described = {
        "": [kind.name for _, _, kind in (a, b)],
        "the values ": [", ".join(part.values) for _, part, _ in (a, b)],
        "its last evaluation at step ": [str(part.stage) for _, part, _ in (a, b)],
    }
    for words, (one, other) in described.items():
        if one != other:
            raise ValueError(f"{a[0]} has {words}{one}, {b[0]} has {words}{other}; expected the same in each file")
