"""A set of files, one or several for each task, read as one table: the task's label stands in the path."""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxcert._extras import import_extra
from jaxcert.tables._arranged import arrange_table
from jaxcert.tables._coded import as_objects, coded, crossing, of_series
from jaxcert.tables._doubts import WORDS, tell
from jaxcert.tables._files import content_of, in_file
from jaxcert.tables._label_doubts import ask_about_names_of, ask_about_trials_of
from jaxcert.tables._names import DIGITS, MOST_CONDITIONS, stems_of, tells
from jaxcert.tables._outcomes import as_totals
from jaxcert.tables._returns import Returns, how_many, told_unfinished
from jaxcert.tables._roles import Columns, Roles
from jaxcert.tables._sum_doubts import sums_up
from jaxcert.tables.formats._found_rollouts import Content, Format, kind_of
from jaxcert.tables.formats._one_task import OF_ONE_TASK, STAGE

PLACE, TRIAL = "{task}", "{trial}"
_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow")
_WORD = re.compile("[a-zA-Z]+")
_SEED = re.compile("[^a-z0-9]*seed[=_-]?[0-9]+$", re.IGNORECASE)
_WILD = "*"
# The parts of each file's path, by the names of the places in the pattern.
_Labels = Mapping[str, dict[str, str]]
_USUAL = f"'{PLACE}/{TRIAL}.csv' or '{PLACE}/seed_*/monitor.csv'"


def read_folder(
    folder: Path, roles: Roles, table_in: Callable[[Path, bytes, Roles], Any]
) -> tuple[Returns, dict[str, Any]]:
    """The returns of all files of a folder whose paths fit ``roles.task``, and what else is known of them.

    ``table_in`` gives the rows of a file that is a table. The rows of all files are one table, with columns for the
    parts of the paths; the episodes of a file of one task are its trials.
    """
    with in_file(folder):
        labels = _labels(folder, roles.task)
    contents = {name: content_of(folder / name, "episodes") for name in labels}
    kinds = {name: _kind_of(folder / name, data) for name, data in contents.items()}
    kind, given = next(filter(None, kinds.values()), None), tuple(f"{{{part}}}" for part in next(iter(labels.values())))
    task, trial = PLACE if PLACE in given else Columns().task, TRIAL if TRIAL in given else roles.trial
    own, tables = roles._replace(given=given, task=task, trial=trial), {}
    for name, data in contents.items():
        with in_file(folder / name):  # whether its columns fit is seen with all files together
            if kinds[name] != kind:
                raise ValueError(
                    f"is none of the {getattr(kind, 'name', '')} that are here; expected files of one kind"
                )
            tables[name] = table_in(folder / name, data, own) if kind is None else _episodes(kind, data)
            if not len(tables[name]):
                raise ValueError("has no row; expected at least one trial in each file")
    with in_file(folder):
        if kind is not None:
            own = _of_kind(kind, tables, labels, own, roles)
        found, columns = arrange_table(_together(tables, labels, own), own)
    columns = columns._replace(task=roles.task, trial=Columns().trial if own.trial == TRIAL else columns.trial)
    tasks, value = how_many(len(found.tasks), "task"), f"value {columns.value}"
    told = [f"read from {how_many(len(tables), 'table')}: {tasks}, {value}"]
    if kind is not None:
        told = [f"read as {kind.name}: {len(tables)} files of {tasks}, {value}", kind.remark]
    told.append(told_unfinished(found.num_unfinished, roles.unfinished))
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    usual = columns._replace(task="")  # no pattern is read unnamed
    said = {"columns": columns, "usual_columns": usual, "said": "; ".join(filter(None, told))}
    return dataclasses.replace(found, rows=None), {**said, "sha256": folder_digest(digests)}


def folder_digest(digests: Mapping[str, str]) -> str:
    """SHA-256 of the lines that ``sha256sum`` prints of these files: the digest of each, two spaces, its name.

    In a folder, `find * -name '*.parquet' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum` prints it.
    """
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


# --- which files fit -----------------------------------------------------------------------------------------------


def _labels(folder: Path, task: str) -> dict[str, dict[str, str]]:
    """The paths within the folder that fit, in their order, each with the labels in it; links are followed."""
    if task == Columns().task:
        raise ValueError(
            f"is a directory, expected a file, or the pattern of its files (--task-from-path), such as {_USUAL}: "
            f"{PLACE} stands for the label of a task, and {TRIAL} for one more run of the same policy"
        )
    names, places = task.split("/"), [task.count(place) for place in (PLACE, TRIAL)]
    example = f"a path within it with {PLACE}"
    if not any(places) and len(names) == 1:  # as of a column
        as_task = f"or as task, which is {task!r}, {example} for the task, such as {_USUAL}"
        raise ValueError(f"is a directory, expected a file; {as_task}")
    if sum(places) == 0 or max(places) > 1 or any(name in ("", ".", "..") or "**" in name for name in names):
        raise ValueError(f"the pattern of its files is {task!r}; expected {example} once, such as {_USUAL}")
    pattern = re.compile("/".join(map(_of_name, names)))
    wild = task.replace("[", "[[]").replace("?", "[?]").replace(PLACE, _WILD).replace(TRIAL, _WILD)
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.glob(wild) if path.is_file())
    matches = [match for path in paths if (match := pattern.fullmatch(path))]
    if not matches:
        raise ValueError(f"has no file {task!r}; expected one or several for each task")
    tasks = [match.groupdict().get("task", "") for match in matches]
    # Each path with a placeholder for the task's label.
    spans = [match.span("task") if PLACE in task else (0, 0) for match in matches]
    without = [f"{m[0][:a]}{PLACE * (a < b)}{m[0][b:]}".split("/") for m, (a, b) in zip(matches, spans, strict=True)]
    for i, name in enumerate(names):
        if TRIAL in name or _WILD in name:
            _check_are_trials([each[i] for each in without], tasks, is_wild=_WILD in name)
    ask_about_names_of(" ".join(_WORD.findall(Path(name).stem.replace(PLACE, " "))) for name in names if PLACE in name)
    _check_are_tasks(folder, task, {label: match[0] for label, match in zip(tasks, matches, strict=True)})
    return {match[0]: match.groupdict() for match in matches}


def _of_name(name: str) -> str:
    """The expression for one name of a path: what begins with a wildcard fits no hidden file."""
    hidden = "" if name[0] not in (_WILD, PLACE[0]) else r"(?!\.)"
    found = re.escape(name).replace(re.escape(_WILD), "[^/]*")
    for place in (PLACE, TRIAL):
        found = found.replace(re.escape(place), f"(?P<{place[1:-1]}>[^/]+)")
    return hidden + found


def _check_are_trials(trials: Sequence[str], tasks: Sequence[str], *, is_wild: bool) -> None:
    """Raise ValueError for names in the paths of the files of tasks that are of several policies; ask of numbers."""
    several = sorted({*trials})
    if len(several) > 1:
        if told := next((name for name in several if tells(name).no_trial), None):
            tell("trials_in_paths", told=told)
        ask_about_trials_of(several)
    if is_wild:
        _ask_about_names(trials, tasks)


def _ask_about_names(trials: Sequence[str], tasks: Sequence[str]) -> None:
    """Warn of a few words in paths that occur with each task, as the names of policies do."""
    words = coded(as_objects(trials))
    few = 1 < len(words.entries) <= MOST_CONDITIONS and len(stems_of(words.listed())) > 1
    if few and crossing(words, coded(as_objects(tasks))) > 0.9:
        tell("names_in_paths", told=" and ".join(map(repr, sorted(words.listed())[:2])))


def _check_are_tasks(folder: Path, task: str, paths: Mapping[str, str]) -> None:
    """Raise ValueError for files that sum up others and for labels with seeds; ``paths`` by the labels of tasks."""
    if summary := next((path for label, path in paths.items() if sums_up(label) or label in WORDS.no_tasks), None):
        raise ValueError(f"holds {summary!r:.60}, which by its name sums up others; expected the files of tasks alone")
    seeds = [_SEED.search(label) for label in paths]
    if seeds[0] and all(seeds) and 1 < len({_SEED.sub("", label) for label in paths}) < len(paths):
        tell("seeds_in_labels", label=next(iter(paths)))
    if all(label.isdecimal() for label in paths) and any(folder.glob("**/.hydra")):
        tell("runs_of_hydra")


def _kind_of(path: Path, data: bytes) -> Format | None:
    """The kind of a file of one task; None for another one, which may be a table."""
    with in_file(path):
        return kind_of(Content(data), OF_ONE_TASK, own=path.suffix in _TABLES)


# --- the rows of all files ------------------------------------------------------------------------------------------


def _together(tables: Mapping[str, Any], labels: _Labels, roles: Roles) -> Any:
    """One table of all rows, with columns for the parts of the paths that are read."""
    pa, found = import_extra("pyarrow", "io"), []
    for name, table in tables.items():
        for part, label in labels[name].items():
            if f"{{{part}}}" in roles.given:
                table = table.append_column(f"{{{part}}}", pa.array([label] * len(table), pa.string()))
        found.append(table)
    try:
        return pa.concat_tables(found, promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"holds tables whose columns do not fit together ({error})") from error


def _episodes(kind: Format, data: bytes) -> Any:
    """The episodes in one file of a known kind. Their values are checked here, while rows still belong to one file."""
    table = kind.read(Content(data))
    usual = table.column_names[0]
    as_totals(of_series(table.column(usual)), usual)
    return table


def _of_kind(kind: Format, tables: Mapping[str, Any], labels: _Labels, own: Roles, roles: Roles) -> Roles:
    """The roles of the columns of files of one kind, whose tasks are in the paths.

    Monitors of training runs are refused: numbered runs with as many episodes as fit into their steps.
    """
    if roles.trial not in (None, Columns().trial):
        raise ValueError(f"trial is {roles.trial!r:.42}; expected none, since episodes are the trials of a file")
    if own.task != PLACE:
        raise ValueError(f"the pattern of its files names no task; expected one with {PLACE}")
    tasks = [each["task"] for each in labels.values()]
    _ask_about_names([each.get("trial", "") for each in labels.values()], tasks)
    stages = {name: str(each.column(STAGE)[0]) for name, each in tables.items() if STAGE in each.column_names}
    if len({*stages.values()}) > 1:  # before any rows are picked
        told = ", ".join(f"{name} at {step}" for name, step in [*stages.items()][:4])
        raise ValueError(f"holds policies that were evaluated at other steps, {told}; expected one in all files")
    lengths, stems = [*map(len, tables.values())], {DIGITS.sub("", label) for label in tasks}
    if kind.is_log and len(stems) == 1 < len({*tasks}) and len({*lengths}) > 1:
        tell("monitors_of_training", least=min(lengths), most=max(lengths))
    value = next(iter(tables.values())).column_names[0] if roles.value == Columns().value else roles.value
    return own._replace(value=value, trial=None, given=(PLACE,))
