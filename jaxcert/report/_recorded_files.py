"""Read the files of returns behind a certificate file as it records, and check their names in its statements."""

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from jaxcert._validation import precision
from jaxcert.questions import QUESTIONS
from jaxcert.report._recompute import support_of
from jaxcert.returns._labels import quoted, quoted_condition
from jaxcert.tables._entries import told_as
from jaxcert.tables._read_summary import read_summary
from jaxcert.tables._readers import ReturnsFile, read_by
from jaxcert.tables._returns import AT_RANDOM, OF_COUNTS, how_many, names_of, told_unfinished
from jaxcert.tables._roles import Columns, Roles

Paths = Sequence[str | PathLike[str]]


def recorded_files(
    certificate: str | PathLike[str], document: Mapping[str, Any], paths: Paths
) -> list[list[ReturnsFile]]:
    """For each record of a document the returns that it is of: all files (one table may hold them), or its policy's."""
    records = document["certificates"]
    paths = [*paths] * _times_read(document, len(paths))
    of_board, known = "leaderboard" in document, {}
    (_check_policies if of_board else _check_number)(certificate, document, len(paths))

    def read(path: str | PathLike[str], record: Mapping[str, Any], place: int) -> ReturnsFile:
        held = dict(enumerate(_files_of(record))).get(place, {})
        try:
            return _read(path, record, held, known)
        except ValueError as error:
            if not held.get("file"):
                raise
            kind, used = "the folder" if "folder" in held else "the file", held.get("columns") or {}
            how = ", ".join(f"{name} from {column!r}" for name, column in used.items() if column)
            made = f"{kind} {held['file']} ({how or 'arrays without columns'}): expected it, read like that"
            raise ValueError(f"{error}; {certificate} is made from {made}") from error

    if of_board:  # the policies take turns
        return [[read(paths[i % len(paths)], record, 0)] for i, record in enumerate(records)]
    return [[read(path, record, place) for place, path in enumerate(paths)] for record in records]


def _files_of(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of a record about its files; empty if it names none."""
    return [record["data"] or {}, *record.get("others", [])]


def _times_read(document: Mapping[str, Any], given: int) -> int:
    """How often each given file is read: its policies or metrics are rows or columns of one table, or it has one."""
    files = [file for record in document["certificates"] for file in _files_of(record)]
    of_metrics = any(map(takes_metrics, document["certificates"]))
    of_rows = given == 1 and all((file.get("roles") or {}).get("only") for file in files)
    named = {file.get("sha256", place) for place, file in enumerate(files)}
    if not (of_metrics or of_rows) or not 0 < len(named) <= given:
        return 1
    of_board = document.get("leaderboard")
    count = len(of_board["order"] if of_board else _files_of(document["certificates"][0]))
    return 1 if count % given else count // given


def takes_metrics(record: Mapping[str, Any]) -> bool:
    return record["question"] in QUESTIONS and QUESTIONS[record["question"]].takes("requirements")


def rows_read(files: Sequence[ReturnsFile]) -> str:
    """Describe which rows of the files were read, and how many lack an outcome; "" for all rows."""
    told = []
    for file in files:
        picked = [f"where {quoted_condition(each, file.names)}" for each in file.roles.rows_picked]
        told += [f"of rows {', '.join(picked)}" * bool(picked), told_unfinished(file.num_unfinished, file.unfinished)]
    return "; ".join(filter(None, dict.fromkeys(told)))


@contextlib.contextmanager
def warned_of_rows() -> Iterator[None]:
    """Show what is doubted of the rows, once each; missing rollouts are part of the record."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(str(each.message) for each in caught):
        if not text.endswith((AT_RANDOM, OF_COUNTS)):
            warnings.warn(text, UserWarning, stacklevel=3)


def _check_policies(certificate: str | PathLike[str], document: Mapping[str, Any], given: int) -> None:
    """Raise ValueError unless each policy of a leaderboard has a file and the same number of certificates."""
    names, held = [each["policy"] for each in document["leaderboard"]["order"]], len(document["certificates"])
    if len(names) != given:
        raise ValueError(f"{certificate}: has {len(names)} policies, {', '.join(names)}; given are {given} files")
    if not held or held % given:
        raise ValueError(f"{certificate}: holds {held} certificates of {given} policies; expected as many of each")


def _check_number(certificate: str | PathLike[str], document: Mapping[str, Any], given: int) -> None:
    """Raise ValueError unless there are as many files of returns as each certificate is made from."""
    for record in document["certificates"]:
        files = _files_of(record)
        if record["question"] in QUESTIONS and all(files):
            _check_metrics(certificate, record, files)
        if record["question"] in QUESTIONS and all(files) and len(files) != given:
            names = [*dict.fromkeys(each["file"] for each in files)]
            made = f"{how_many(len(names), 'file') if names[1:] else 'one file'} of returns, {', '.join(names)}"
            raise ValueError(f"{certificate}: is made from {made}; given are {given}")


def _check_metrics(certificate: str | PathLike[str], record: Mapping[str, Any], files: Sequence[Any]) -> None:
    """Raise ValueError for metrics of a policy that are not of the same trials in the same rows of the same file."""
    num_metrics = 0
    with contextlib.suppress(ValueError):  # wrong requirements are found where the record is computed again
        num_metrics = len(QUESTIONS[record["question"]].metrics(record["settings"]))
    files = files[:-1] if "max_weight" in record["settings"] else files  # the last one has the weights of tasks
    count = len(files) // num_metrics if num_metrics else len(files)
    how = ("columns", "roles")
    told = [[each["sha256"], *({**(each.get(name) or {}), "value": None} for name in how)] for each in files]
    if any(each != told[place % max(1, count)] for place, each in enumerate(told)):
        raise ValueError(f"{certificate}: its metrics are not of the same rollouts")


def _read(
    path: str | PathLike[str], record: Mapping[str, Any], held: Mapping[str, Any], known: dict[Any, ReturnsFile]
) -> ReturnsFile:
    """Returns by the columns of a record; records with the same ones share a reading. Successes are successes again."""
    roles, dtype = recorded_roles(held, metric=takes_metrics(record)), record["settings"]["dtype"]
    folder = {name: held["folder"][name] for name in ("num_bins", "across")} if "folder" in held else {}
    how = folder and {**folder, "support": support_of(record), "task": roles.task, "value": roles.value}
    key = (path, roles, f"{dtype} {how}" if how else "")
    if key not in known:
        with warned_of_rows(), precision(dtype) if how else contextlib.nullcontext():
            known[key] = read_summary(path, **how) if how else read_by(path, roles)
    if how:
        return known[key]
    found = known[key].with_successes(None if held.get("dtype") == "bool" else ())
    return dataclasses.replace(found, called=held.get("called"))


def recorded_roles(held: Mapping[str, Any], *, metric: bool = False) -> Roles:
    """How a record says that a file was read.

    Raises:
        ValueError: its roles say another column of outcomes than its columns, or a group of other rows.
    """
    columns, counted = {**(held.get("columns") or {})}, (held.get("unfinished") or {}).get("counted_as")
    columns |= {"trial": columns["trial"] or None} if "trial" in columns else {}
    unfinished = None if counted is None else float(counted)
    roles = Roles(**columns, unfinished=unfinished, metric=metric, recorded=True)
    found = {name: tuple(x) if isinstance(x, list) else x for name, x in (held.get("roles") or {}).items()}
    if found.get("group", "") not in (*found.get("where", ()), ""):
        raise ValueError(f"its group is {found['group']!r:.60}, which is not among the conditions on its rows")
    if found.keys() & {"successes", "trials", "value"}:
        counts = f"{found.get('successes', found.get('value', Columns().value))}/{found.get('trials')}"
        if roles.value != counts:
            raise ValueError(f"its roles count {counts}, its columns {roles.value!r:.80}; expected the same")
        roles = roles._replace(value=Columns().value)
    return roles._replace(**found)


# A policy's name in statements, its file in the record, and the file that was given.
_Named = tuple[str, str, ReturnsFile]


def of_names(document: Mapping[str, Any], data: Sequence[Sequence[ReturnsFile]]) -> tuple[list[str], str]:
    """Names in statements that belong to files other than the checked ones, or that look alike, in words; and which
    files have a name that was given by hand, or outcomes in other columns, empty for none.
    """
    wrong, told, read = [], [], []
    for policies in _named(document, data):
        if len({told_as(name) for name, *_ in policies}) < len(policies):
            wrong.append("its statements name two policies alike")
        how = [_how_read(file) for *_, file in policies]
        if differ := [name for name in how[0] if len({each[name] for each in how}) > 1] if how else []:
            words = [" and ".join(quoted(f"{each[name]}") for name in differ) for each in how]
            read += [f"{quoted(name)} by {each}" for (name, *_), each in zip(policies, words, strict=True)]
            if len({file.sha256 for *_, file in policies}) == 1:
                wrong.append("its policies are read from different columns or records of one table")
        if len({file.roles.group for *_, file in policies}) > 1:
            wrong.append("its statements say of all policies what is said of one policy's rows")
        sources = [file.policy or file.path.name for _, _, file in policies]
        for (name, recorded, file), source in zip(policies, sources, strict=True):
            recorded = file.policy or recorded
            by_hand = recorded not in (name, Path(name).name)  # neither of a column nor of a file: nothing proves it
            if name in sources if by_hand else recorded != source:
                wrong.append(f"its statements say {name!r}, these files {source!r}")
        files = names_of([dataclasses.replace(file, called=None) for _, _, file in policies])
        pairs = [(name, recorded, file) for (name, recorded, _), file in zip(policies, files, strict=True)]
        if any(name not in (recorded, file) for name, recorded, file in pairs):
            told += [f"{quoted(name)} is {quoted(file)}" for name, _, file in pairs]
    names, columns = (", ".join(dict.fromkeys(each)) for each in (told, read))
    both = [f"names as the file has them: {names}"] * bool(names) + [f"outcomes as read: {columns}"] * bool(columns)
    board = len(document.get("leaderboard", {}).get("order", ())) or len(data)
    if any(_how_read(files[0]) != _how_read(data[place % board][0]) for place, files in enumerate(data)):
        wrong.append("certificates of one policy are read from different columns or records")
    return [*dict.fromkeys(wrong)], "; ".join(both)


def _how_read(file: ReturnsFile) -> dict[str, Any]:
    """The columns and records of a file that are read, and none of what tells its policy."""
    columns = file.columns or Columns("", "", "")
    of_json = {name: getattr(file.roles, name) or "" for name in ("records", "recipe")}
    return columns._asdict() | of_json


def _named(document: Mapping[str, Any], data: Sequence[Sequence[ReturnsFile]]) -> Iterator[list[_Named]]:
    """The groups of policies that statements name: all of a leaderboard, for each question, or the two of a record."""
    files = [
        list(zip(_files_of(record), read, strict=False))
        for record, read in zip(document["certificates"], data, strict=True)
    ]
    if "leaderboard" not in document:
        for held in files:
            yield [(one["called"], one.get("file", ""), file) for one, file in held[:2] if one.get("called")]
        return
    names = [each["policy"] for each in document["leaderboard"]["order"]]
    for place in range(0, len(files), len(names)):
        held = [each[0] for each in files[place : place + len(names)]]
        yield [(name, one.get("file", ""), file) for name, (one, file) in zip(names, held, strict=True)]
