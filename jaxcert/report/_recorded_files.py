"""The files of returns from which a certificate file was made, read as it records."""

import contextlib
import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS
from jaxcert.report._recompute import precision, support_of
from jaxcert.tables._columns import Columns
from jaxcert.tables._readers import ReturnsFile, read_by
from jaxcert.tables._roles import PICKED, Roles
from jaxcert.tables.folders import read_summary

Paths = Sequence[str | PathLike[str]]
# What warnings say of rows that were chosen; what is missing is part of the record.
_OF_ROWS = ("leaves out trials", "taken for one policy")


def recorded_files(
    certificate: str | PathLike[str], document: Mapping[str, Any], paths: Paths, columns: dict[str, str | None]
) -> list[list[ReturnsFile]]:
    """For each record of a document the returns that it is of: all files or, in a leaderboard, that of its policy.

    A table that holds all policies may be given once.

    ``columns``: by the parameters of ``read_returns``, as given; None for those that the record names.

    Raises:
        ValueError: for another number of files, or one that cannot be read.
    """
    records = document["certificates"]
    if len(paths) == 1:
        paths = [*paths] * _policies_of_one_table(document)
    if "leaderboard" in document:
        _check_policies(certificate, document, len(paths))
        return _of_each_policy(certificate, records, paths, columns)
    _check_number(certificate, records, len(paths))
    files = [_read_told(path, certificate, records, place, columns) for place, path in enumerate(paths)]
    return [list(each) for each in zip(*files, strict=True)]


def _policies_of_one_table(document: Mapping[str, Any]) -> int:
    """Of how many policies, or metrics, a document is that are rows or columns of one table; 1 for other ones."""
    of_each = [[record["data"] or {}, *record.get("others", [])] for record in document["certificates"]]
    files = [file for each in of_each for file in each]
    of_metrics = any(map(_takes_metrics, document["certificates"]))
    of_rows = all((file.get("roles") or {}).get("only") for file in files)
    if not files or not all("sha256" in file for file in files) or not (of_metrics or of_rows):
        return 1
    count = len(document["leaderboard"]["order"]) if "leaderboard" in document else len(of_each[0])
    return count if len({file["sha256"] for file in files}) == 1 else 1


def _takes_metrics(record: Mapping[str, Any]) -> bool:
    return record["question"] in QUESTIONS and QUESTIONS[record["question"]].takes("requirements")


def rows_read(files: Sequence[ReturnsFile]) -> str:
    """Which rows of files were read, and how many have no outcome, as is told of them; "" for all rows."""
    told = []
    for file in files:
        picked = file.roles.rows_picked if file.roles is not None else ()
        told += [f"of rows {', '.join(f'where {each}' for each in picked)}"] if picked else []
        if file.num_unfinished:
            told.append(f"{file.num_unfinished} without an outcome, counted as {file.unfinished:g}")
    return "; ".join(dict.fromkeys(told))


@contextlib.contextmanager
def only_warned_of_rows() -> Iterator[None]:
    """Of all warnings of the library, only those about the choice of rows are given, once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(str(each.message) for each in caught):
        if any(words in text for words in _OF_ROWS):
            warnings.warn(text, UserWarning, stacklevel=3)


def _of_each_policy(
    certificate: str | PathLike[str], records: list[dict[str, Any]], paths: Paths, columns: dict[str, str | None]
) -> list[list[ReturnsFile]]:
    """For each record of a leaderboard the returns of its policy: the policies take turns."""
    data: list[list[ReturnsFile]] = [[] for _ in records]
    for place, path in enumerate(paths):
        own = records[place :: len(paths)]
        data[place :: len(paths)] = [[each] for each in _read_told(path, certificate, own, 0, columns)]
    return data


def _check_policies(certificate: str | PathLike[str], document: Mapping[str, Any], given: int) -> None:
    """Raise ValueError unless there is a file for each policy of a leaderboard, and as many certificates of each."""
    names, held = [each["policy"] for each in document["leaderboard"]["order"]], len(document["certificates"])
    if len(names) != given:
        raise ValueError(f"{certificate}: is of {len(names)} policies, {', '.join(names)}; given are {given} files")
    if not held or held % given:
        raise ValueError(f"{certificate}: holds {held} certificates of {given} policies; expected as many of each")


def _check_number(certificate: str | PathLike[str], records: Sequence[Mapping[str, Any]], given: int) -> None:
    """Raise ValueError unless there are as many files of returns as each certificate is made from."""
    for record in records:
        files = [record["data"], *record.get("others", [])]
        asked = QUESTIONS.get(record["question"])
        if None not in files and len(files) != given and asked is not None and len(files) in _numbers(asked):
            names = ", ".join(each["file"] for each in files)
            made = "one file" if len(files) == 1 else f"{len(files)} files"
            raise ValueError(f"{certificate}: is made from {made} of returns, {names}; given are {given}")


def _numbers(question: Question) -> list[int]:
    """Of how many files its answers are made: of its policies, with or without weights."""
    return [number + weights for number in question.numbers_of_policies for weights in (0, 1)]


def _read_told(
    path: str | PathLike[str],
    certificate: str | PathLike[str],
    records: list[dict[str, Any]],
    place: int,
    given: dict[str, str | None],
) -> list[ReturnsFile]:
    """The returns of each record; an error ends with what the certificate was made from, as it says itself."""
    try:
        return _read(path, records, place, given)
    except ValueError as error:
        held = [([record["data"] or {}, *record.get("others", [])])[place:] for record in records]
        made = list(dict.fromkeys(_made_from(each[0]) for each in held if each and each[0].get("file")))
        if not made:
            raise
        raise ValueError(
            f"{error}; {certificate} is made from {' and '.join(made)}: expected it, read like that"
        ) from error


def _made_from(data: Mapping[str, Any]) -> str:
    """A file or folder as its record names it, with the columns that were read."""
    kind, columns = "the folder" if "folder" in data else "the file", data.get("columns") or {}
    read = [f"{name} from {column!r}" for name, column in columns.items() if column]
    return f"{kind} {data['file']} ({', '.join(read) or 'arrays without columns'})"


def _read(
    path: str | PathLike[str], records: list[dict[str, Any]], place: int, given: dict[str, str | None]
) -> list[ReturnsFile]:
    """The returns of each record, from the columns that are given or that it names for the file in that place.

    Rollouts without an outcome count as the record says, which the comparison checks like its other entries.
    """
    chosen = {name: column for name, column in given.items() if column is not None}
    held = [[record["data"] or {}, *record.get("others", [])] for record in records]
    named = [{**((each[place].get("columns") if place < len(each) else None) or {}), **chosen} for each in held]
    columns = [each._replace(trial=each.trial or None) for each in (Columns(**names) for names in named)]
    counted = [(each[place] if place < len(each) else {}).get("unfinished") or {} for each in held]
    picked = [(each[place] if place < len(each) else {}).get("roles") or {} for each in held]
    picks = [tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in each.items()) for each in picked]
    wanted: list[tuple[Columns, float | None, Any]] = [
        (each, one.get("counted_as"), roles) for each, one, roles in zip(columns, counted, picks, strict=True)
    ]
    metric = any(map(_takes_metrics, records))
    with only_warned_of_rows():
        if any("folder" in each[0] for each in held):
            return _read_folder(path, records, held, columns)
        found = {
            (each, unfinished, picks): read_by(path, recorded_roles(each._asdict(), unfinished, picks, metric=metric))
            for each, unfinished, picks in wanted or [(Columns(), None, ())]
        }
    kinds = [(each[place] if place < len(each) else {}).get("dtype") for each in held]
    # Numbers of 0 and 1 that were certified as successes are successes again.
    called = [(each[place] if place < len(each) else {}).get("called") for each in held]
    return [
        dataclasses.replace(found[each].without_support(None if kind == "bool" else ()), called=name)
        for each, kind, name in zip(wanted, kinds, called, strict=True)
    ]


def recorded_roles(
    columns: Mapping[str, Any], unfinished: float | None, picked: Iterable[tuple[str, Any]], *, metric: bool = False
) -> Roles:
    """How a record says that a file was read.

    Raises:
        ValueError: its roles are not those that records have, or say another column of outcomes than its columns.
    """
    roles = Roles(**columns, unfinished=unfinished, metric=metric, recorded=True)
    found = dict(picked)
    if unknown := found.keys() - set(PICKED):
        raise ValueError(f"its roles have {sorted(unknown)[0]!r:.40}; expected some of {', '.join(PICKED)}")
    if found.keys() & {"successes", "trials", "value"}:
        counts = f"{found.get('successes', found.get('value', Columns().value))}/{found.get('trials')}"
        if roles.value != counts:
            raise ValueError(f"its roles count {counts}, its columns {roles.value!r:.80}; expected the same")
        roles = roles._replace(value=Columns().value)
    return roles._replace(**found)


def _read_folder(
    path: str | PathLike[str], records: list[dict[str, Any]], held: list[list[dict[str, Any]]], columns: list[Columns]
) -> list[ReturnsFile]:
    """The summary of a folder, as each record says that it was read; once for those that say the same."""
    found: dict[str, ReturnsFile] = {}
    places = []
    for record, (data, *_), names in zip(records, held, columns, strict=True):
        if "folder" not in data:
            raise ValueError(f"{path}: some certificates are of a folder, others of a file; expected one of the two")
        dtype, how = record["settings"]["dtype"], {name: data["folder"][name] for name in ("num_bins", "across")}
        how |= {"support": support_of(record), "task": names.task, "value": names.value}
        places.append(f"{dtype} {how}")
        if places[-1] not in found:
            with precision(dtype):
                found[places[-1]] = read_summary(path, **how)
    return [found[place] for place in places]
