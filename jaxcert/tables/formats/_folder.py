"""A set of files, one or several for each task, read as one table: the task's label stands in the path."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import content_of, in_file
from jaxcert.tables._columns import Columns, NotNamedError, as_totals
from jaxcert.tables._returns import how_many
from jaxcert.tables._roles import Roles
from jaxcert.tables._table_rows import arrange_table
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._found_rollouts import Read, Rollouts, arranged
from jaxcert.tables.formats._one_task import Episodes, OneTask
from jaxcert.tables.formats._registry import OF_ONE_TASK

PLACE, TRIAL = "{task}", "{trial}"
_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow")
_DIGITS = re.compile("[0-9]+")
_WILD = "*"
# As the tools place their files.
_USUAL = (f"{PLACE}/monitor.csv", f"{PLACE}/evaluations.npz", f"{PLACE}.monitor.csv", f"{PLACE}/result.json")


def read_folder(folder: Path, roles: Roles, table_in: Callable[[Path, bytes, Roles], Any]) -> tuple[Read, str]:
    """The returns of all files of a folder whose paths fit ``roles.task``, and the digest of their list.

    The digest is the SHA-256 of the list of files that ``sha256sum`` gives, in the order of their paths.
    ``table_in`` gives the rows of a file that is a table.

    Raises:
        ValueError: the pattern or a file does not fit, or the files are of several kinds or stages.
    """
    with in_file(folder):
        if roles.task == Columns().task:
            raise _not_named(folder)
        pattern = _checked(roles.task)
        labels = _labels(folder, roles.task, pattern)
    contents = {name: content_of(folder / name, "episodes") for name in labels}
    kinds = {name: _kind_of(folder / name, Content(data)) for name, data in contents.items()}
    if not any(kinds.values()):
        own = _of_the_tables(roles, pattern)
        tables = {name: _table(folder / name, data, own, table_in) for name, data in contents.items()}
        with in_file(folder):
            read = _of_tables(tables, labels, roles.task, own)
    else:
        if PLACE not in roles.task:
            raise ValueError(f"{folder}: the pattern of its files is {roles.task!r:.60}; expected one with {PLACE}")
        tasks = {name: match["task"] for name, match in labels.items()}
        known = [_known(folder / name, kind) for name, kind in kinds.items()]
        parts = [_episodes(folder / name, kind, contents[name]) for name, kind in zip(contents, known, strict=True)]
        with in_file(folder):
            read = arranged(known[0].name, _together(roles.task, tasks, parts, known), roles, fixed_list=False)
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()]
    return read, hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _table(path: Path, data: bytes, roles: Roles, table_in: Callable[[Path, bytes, Roles], Any]) -> Any:
    """The rows of one file. Whether its columns fit is seen with all files together."""
    with in_file(path):
        return table_in(path, data, roles)


def _of_tables(tables: Mapping[str, Any], labels: Mapping[str, re.Match[str]], pattern: str, own: Roles) -> Read:
    """The rows of all tables as one, with columns for what the paths say."""
    pa = import_extra("pyarrow", "io")
    parts = []
    for name, table in tables.items():
        for part, label in labels[name].groupdict().items():
            table = table.append_column(f"{{{part}}}", pa.array([label] * len(table), pa.string()))
        parts.append(table)
    try:
        whole = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"holds tables whose columns do not fit together ({error})") from error
    returns = arrange_table(whole, own)
    columns = own.columns(whole.column_names).in_table(whole.column_names)._replace(task=pattern)
    if TRIAL in own.given:
        columns = columns._replace(trial=Columns().trial)
    told = f"read from {how_many(len(tables), 'table')}: {how_many(len(returns.tasks), 'task')}, value {columns.value}"
    return Read(returns, columns, columns, told, False, None, returns.num_unfinished)


def _of_the_tables(roles: Roles, pattern: re.Pattern[str]) -> Roles:
    """The roles of the tables' own columns, and of those that their paths give."""
    given = tuple(f"{{{part}}}" for part in pattern.groupindex)
    found = roles._replace(given=given, task=PLACE if PLACE in given else Columns().task)
    return found._replace(trial=TRIAL) if TRIAL in given else found


def _checked(pattern: str) -> re.Pattern[str]:
    """The expression for paths that fit, with the task's label as its group, or that of the trial."""
    names = pattern.split("/")
    places = [pattern.count(place) for place in (PLACE, TRIAL)]
    if not any(places) and len(names) == 1:  # as of a column
        raise ValueError(
            f"is a directory, expected a file; or as task, which is {pattern!r}, a path within it with {PLACE} for the "
            f"task, such as '{_USUAL[0]}'"
        )
    if sum(places) == 0 or max(places) > 1 or any(name in ("", ".", "..") or "**" in name for name in names):
        raise ValueError(
            f"the pattern of its files is {pattern!r}; expected a path within it with {PLACE} once, such as "
            f"'{_USUAL[0]}'"
        )
    return re.compile("/".join(map(_of_name, names)))


def _not_named(folder: Path) -> ValueError:
    """A folder is given where a file is expected, or the pattern of its files is missing."""
    usual = next((each for each in _USUAL if any(folder.glob(each.replace(PLACE, _WILD)))), None)
    if (
        usual is not None
        and usual == _USUAL[-1]
        and not _is_of_one_task(next(folder.glob(usual.replace(PLACE, _WILD))))
    ):
        return ValueError("is a directory with a result.json for each trial; expected the result.json of the whole job")
    if usual is not None:
        message = f"is a directory, expected a file, or as task the pattern of its files, here {usual!r}"
        return NotNamedError(message, {"task": usual})
    suffix = next((each for each in _TABLES if any(folder.glob(f"*{each}"))), None)
    if suffix is None:
        return ValueError("is a directory, expected a file")
    return ValueError(
        f"is a directory, expected a file; or the pattern of its files (--task-from-path): '{PLACE}{suffix}' if each "
        f"is a task, '{TRIAL}{suffix}' if each is one more run of the same policy on all tasks"
    )


def _is_of_one_task(path: Path) -> bool:
    return _kind_of(path, Content(content_of(path, "episodes"))) is not None


def _of_name(name: str) -> str:
    """The expression for one name of a path: what begins with a wildcard fits no hidden file."""
    hidden = "" if name[0] not in (_WILD, PLACE[0]) else r"(?!\.)"
    found = re.escape(name).replace(re.escape(_WILD), "[^/]*")
    for place in (PLACE, TRIAL):
        found = found.replace(re.escape(place), f"(?P<{place[1:-1]}>[^/]+)")
    return hidden + found


def _labels(folder: Path, task: str, pattern: re.Pattern[str]) -> dict[str, re.Match[str]]:
    """What the paths within the folder say that fit, in their order; links are followed."""
    wild = task.replace("[", "[[]").replace("?", "[?]").replace(PLACE, _WILD).replace(TRIAL, _WILD)
    paths = (path.relative_to(folder).as_posix() for path in folder.glob(wild) if path.is_file())
    found = {path: match for path in sorted(paths) if (match := pattern.fullmatch(path))}
    if not found:
        raise ValueError(f"has no file {task!r}; expected one or several for each task")
    return found


def _kind_of(path: Path, content: Content) -> OneTask | None:
    """The kind of a file of one task; None for another one, which may be a table."""
    with in_file(path):
        try:
            return next((each for each in OF_ONE_TASK if each.recognises(content)), None)
        except ValueError:
            if path.suffix in _TABLES:
                return None
            raise


def _known(path: Path, kind: OneTask | None) -> OneTask:
    with in_file(path):
        if kind is None:
            raise ValueError(f"holds none of {' and '.join(each.name for each in OF_ONE_TASK)}; expected one of these")
    return kind


def _episodes(path: Path, kind: OneTask, data: bytes) -> Episodes:
    with in_file(path):
        found = kind.read(Content(data))
        if not found.values[found.usual]:
            raise ValueError("has no episode; expected at least one")
        as_totals(np.asarray(found.values[found.usual], object), found.usual)  # here, a row is one of this file
        return found


def _together(task: str, labels: dict[str, str], parts: Sequence[Episodes], kinds: Sequence[OneTask]) -> Rollouts:
    """The episodes of all files, each beside its task; ``labels`` gives the tasks by the names of the files."""
    first, *_ = parts
    for name, part, kind in zip(labels, parts, kinds, strict=True):
        _check_alike((next(iter(labels)), first, kinds[0]), (name, part, kind))
    lengths = [len(part.values[part.usual]) for part in parts]
    _check_no_training(labels.values(), lengths, kinds[0])
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


def _check_no_training(labels: Iterable[str], lengths: Sequence[int], kind: OneTask) -> None:
    """Refuse the monitors of training runs: numbered runs, each with as many episodes as came in its steps."""
    stems = {_DIGITS.sub("", label) for label in labels}
    if kind.is_log and len(stems) == 1 < len({*labels}) and len({*lengths}) > 1:
        raise ValueError(
            f"holds monitors of {min(lengths)} to {max(lengths)} episodes whose tasks differ in a number alone, as "
            "those of training runs do: their policies were not fixed, and runs are no tasks; expected the monitors of "
            "an evaluation, with as many episodes of each task"
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
