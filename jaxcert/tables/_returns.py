"""Returns with their tasks, and the file that they are from."""

import dataclasses
import functools
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from jaxcert.returns._labels import Condition, parts_of, quoted_condition
from jaxcert.returns._prepared import as_successes
from jaxcert.tables._entries import closely, decoded, is_name
from jaxcert.tables._roles import Columns, Roles

AT_RANDOM = (
    "certificates hold only if whether a rollout is missing does not depend on its outcome; otherwise count it as the "
    "outcome that is worst for the statement: the lowest return possible, but the highest of a cost or of policy B"
)
OF_COUNTS = "certificates hold only if the number of trials of a task does not depend on their outcomes"
_USUAL = Roles()
# What an address asks for, which may hold keys; what stands before the last part of a path, and of an address with user
# and host; a home.
_QUERY = re.compile(r"(/[^?#;]*)[?#;].*", re.DOTALL)
_PLACE = re.compile(r".*[/\\]|^\S+@[^\s:]+:|^~\S*$", re.DOTALL)
_USER = re.compile(r"(?<=//)[^/]*@", re.DOTALL)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Returns:
    """Returns of a set of tasks, some of which may have fewer rollouts than others.

    Attributes:
        returns: float32 or float64 [n, m], one row per task; or bool, of successes. Missing rollouts are NaN, or False.
            Of a folder of Parquet files a `Histogram`, which stands in their place in `jaxcert.certify`.
        where: bool [n, m], False where a rollout is missing; None if none is.
        tasks: the label of each task, [n].
        rows: int [n, m], the row of the table in which each rollout stands, from 1 on without the header; 0 for a
            missing one. None if they come from no table.
        num_unfinished: how many rollouts have no outcome of their own.
        counted: whether rows count trials, so that tasks may have different numbers of them.
        unread: columns of a table, or arrays of a file, that are not read, and in which the rows differ: if one of them
            tells policies or conditions apart, the returns are of none of them.
        strata: the label of each task's stratum, [n]; None if no column of them was named.
        constant: columns of a table that are not read and hold one entry alone, with it as text: ``align_tasks`` asks
            about those in which policies differ.
        of_tasks: columns of a table that are not read and hold one entry for each task, by its label: ``align_tasks``
            asks about those that differ between policies.

    Example:
        >>> import jaxcert
        >>> data = jaxcert.from_lists({"push": [1, 0, 1], "pull": [1, 1, 1]})
        >>> data
        Returns(2 tasks, 3 rollouts each)
        >>> found = jaxcert.certify(data.returns, 0.1, support=(0, 1), delta=0.1, where=data.where)
    """

    returns: Any
    where: np.ndarray | None
    tasks: np.ndarray
    rows: np.ndarray | None = dataclasses.field(default=None, kw_only=True)
    num_unfinished: int = dataclasses.field(default=0, kw_only=True)
    counted: bool = dataclasses.field(default=False, kw_only=True)
    strata: np.ndarray | None = dataclasses.field(default=None, kw_only=True)
    unread: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    constant: Mapping[str, str] = dataclasses.field(default_factory=dict, kw_only=True)
    of_tasks: Mapping[str, Mapping[Any, str]] = dataclasses.field(default_factory=dict, kw_only=True)

    def place_of(self, index: Sequence[int]) -> str:
        """Describe a return by its task's label and its row, if it has one, from the index of task and rollout."""
        task, rollout = map(int, index)
        label = self.tasks[task : task + 1].tolist()[0]
        if self.rows is None:
            return f"the return of task {label!r:.40}, rollout {rollout}"
        return f"row {self.rows[task, rollout]}: the return of task {label!r:.40}"

    def in_order(self, order: np.ndarray) -> Self:
        """The same with its tasks in this order."""
        of_tasks = {name: getattr(self, name) for name in ("returns", "where", "tasks", "rows", "strata")}
        moved = {name: None if each is None else each[order] for name, each in of_tasks.items()}
        return dataclasses.replace(self, **moved)

    @property
    def num_rollouts(self) -> np.ndarray:
        """The number of rollouts of each task, int [n]."""
        if not self.has_rollouts:
            return np.asarray(self.returns.num_rollouts).astype(np.int64)
        return np.full(*self.returns.shape) if self.where is None else self.where.sum(axis=1)

    @property
    def means(self) -> np.ndarray:
        """The mean return of each task, float64 [n]; of a summary there is none."""
        where = np.ones(self.returns.shape, bool) if self.where is None else self.where
        return np.where(where, self.returns, 0).sum(axis=1, dtype=np.float64) / where.sum(axis=1)

    @property
    def _name(self) -> str:
        """Its name in messages, if it has its own."""
        return ""

    @property
    def has_rollouts(self) -> bool:
        """Whether single rollouts are known, rather than only a summary."""
        return isinstance(self.returns, np.ndarray)

    @property
    def most_rollouts(self) -> int:
        """The number of rollouts for which there is room in each task, or which some task has."""
        return self.returns.shape[1] if self.has_rollouts else int(self.num_rollouts.max())

    @property
    def is_finished(self) -> bool:
        """Whether each rollout has an outcome of its own."""
        return not self.num_unfinished

    @property
    def missing(self) -> str:
        """How many tasks lack rollouts that others have, and how many are missing, in words; empty for none."""
        counts, most = self.num_rollouts, self.most_rollouts
        short = int((counts < most).sum())
        if not short:
            return ""
        return (
            f"{short} of {len(counts)} tasks have fewer than {most} rollouts, {int((most - counts).sum())} of "
            f"{counts.size * most} are missing"
        )

    def __repr__(self) -> str:
        counts = self.num_rollouts
        rollouts = f"{how_many(span(counts), 'rollout')}{'' if self.missing else ' each'}"
        return f"{type(self).__name__}({how_many(len(counts), 'task')}, {rollouts})"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ReturnsFile(Returns):
    """The returns that a file holds, and which file it was.

    Attributes:
        path: the file.
        sha256: the SHA-256 of its content, in hexadecimal digits; of a folder, of the list of the files read,
            as `sha256sum` writes it in the order of their paths.
        columns: which columns of a table were read, or as value which array; None for a file with `returns`.
        usual_columns: those that are read if none is named; "" in place of one where several could be meant, or of
            a folder's pattern.
        said: what the reader of another tool's file says of it, or "".
        reasons: the parts of this that are the file's own words, of why rollouts ended.
        num_errors: how many rollouts an error ended, which the tool counts as the worst return.
        fixed_list: whether the tasks are known to be a list that somebody made, such as a benchmark.
        known_support: the smallest and the largest return possible, if the tool fixes them.
        unfinished: the return that rollouts without an outcome of their own count as; None if there are none.
        roles: which column has which role, and which rows were read.
        folder: of Parquet files, whose returns are a `Histogram`: how many files and bins, and the partitions that do
            not tell tasks apart.
        successes: whether such a folder holds successes.
        called: what the policy is called, where it was given a name.
    """

    path: Path
    sha256: str
    columns: Columns | None = None
    usual_columns: Columns | None = None
    said: str = ""
    reasons: tuple[str, ...] = ()
    num_errors: int = 0
    fixed_list: bool = False
    known_support: tuple[float, float] | None = None
    unfinished: float | None = None
    roles: Roles = _USUAL
    called: str | None = None
    folder: Mapping[str, Any] | None = None
    successes: bool = False

    @property
    def is_finished(self) -> bool:
        return super().is_finished and not self.num_errors

    def place_of(self, index: Sequence[int]) -> str:
        """Describe a return, with its file."""
        return f"{self.path}: {super().place_of(index)}"

    def with_successes(self, support: Any) -> "ReturnsFile":
        """The same as successes, if no support is declared and all numbers are 0 or 1; else as it is."""
        found = as_successes(self.returns, support, self.where) if self.has_rollouts else self.returns
        if found is self.returns:
            return self
        return dataclasses.replace(self, returns=found, known_support=None)

    @property
    def told(self) -> str:
        """What to tell the reader of a result about the file; "" for one of jaxcert's."""
        return self._told(lambda condition: f"where {quoted_condition(condition, self.names)}")

    @property
    def told_without_labels(self) -> str:
        """The same without labels of tasks, left out entries, reasons, and where files lie, for other readers."""
        brief = functools.reduce(lambda said, reason: said.replace(reason, ""), self.reasons, self.said)
        return dataclasses.replace(self, said=brief)._told(self._shown)

    def _told(self, shown: Callable[[str], str]) -> str:
        """What a tool's reader said; else the roles of the columns that were read, or the name of the array."""
        picked = [*map(shown, self.roles.rows_picked)]
        if self.said or self.columns is None or self.folder is not None:
            return "; ".join(filter(None, [self.said, *picked]))
        tasks, trials = how_many(len(self.tasks), "task"), how_many(span(self.num_rollouts), "trial")
        if self.rows is not None:
            tasks += f" from {self.columns.task}"
            if self.strata is not None:
                sizes = np.unique([*map(str, self.strata)], return_counts=True)[1]
                kind = "stratum" if len(sizes) == 1 else "strata"
                tasks += f" in {len(sizes)} {kind} of {span(sizes)} from {self.roles.strata}"
            trials += "" if self.columns.trial is None or self.counted else f" from {self.columns.trial}"
        what = "success" if self.returns.dtype == bool and not self.roles.metric else "value"
        told = ", ".join([tasks, trials, f"{what} from {self.columns.value}", *picked])
        return "; ".join(filter(None, [told, told_unfinished(self.num_unfinished, self.unfinished)]))

    def _shown(self, condition: str) -> str:
        """A condition on the rows, for other readers."""
        found = parts_of(condition, self.names, other=".*(?=!=)|.*?")
        name, sign, entries = found or Condition(condition, "!=", ())
        sizes = Counter(self.of_tasks.get(name := name.strip(), {}).values()).values()  # how many tasks an entry has
        if (of_tasks := 1 in sizes or label_tasks(entries, {name}, [self])) or sign == "!=":
            return f"some {'tasks' if of_tasks else 'rows'} by {name}"
        last_parts = [_PLACE.sub("", _USER.sub("", _QUERY.sub(r"\1", decoded(each)))) for each in entries]
        return f"where {Condition(name, sign, last_parts)}"  # the certificate states it

    @property
    def names(self) -> set[str]:
        """The columns that are known by name."""
        read = () if self.columns is None else (*self.columns.task.split(","), *self.columns[1:])
        return {*filter(None, [*read, self.roles.policy, self.roles.strata]), *self.unread, *self.constant}

    @property
    def policy(self) -> str | None:
        """The policy, where the table holds several."""
        return self.roles.only

    @property
    def _name(self) -> str:
        if self.called not in (None, self.path.name, self.policy):
            return f"{self.called} ({self.path})"
        return str(self.path) if self.policy is None else f"{self.path}, {self.policy}"

    @property
    def like(self) -> np.ndarray:
        """Nothing, of the type of the returns: bool for successes."""
        return np.empty(0, self.returns.dtype if self.has_rollouts else bool if self.successes else np.float64)

    @property
    def how_read(self) -> dict[str, Any]:
        """Further entries of a record from which the returns can be read again."""
        picked = self.roles.picked
        found = {"roles": {**picked, "where": list(self.roles.where)}} if picked else {}
        return found if self.folder is None else {"folder": self.folder}


def label_tasks(entries: Collection[str], columns: Collection[str | None], files: Sequence[ReturnsFile]) -> bool:
    """Whether entries of columns are labels of tasks, parts of them, or of one task; numbers coincide, unless all do.

    Of groups ``files`` are those of each; else entries may be strata.
    """
    parts = {part for file in files if file.columns for part in (file.columns.task, *file.columns.task.split(","))}
    labels = {label for file in files for label in file.tasks.tolist()}
    named = {closely(part) for label in filter(is_name, labels) for part in (label, *label.split(", "))}
    is_of_one = bool(entries) and any(1 in _sizes_of(file) for file in files)  # which is as good as its label
    by_labels = {*map(closely, entries)} & named or {*entries} >= {*map(str, labels)}
    return bool(parts & {*columns} or by_labels or is_of_one)


def _sizes_of(file: ReturnsFile) -> list[int]:
    """How many tasks there are, in each stratum if they have strata."""
    return [len(file.tasks)] if file.strata is None else [*Counter(map(str, file.strata)).values()]


def names_of(data: Sequence[ReturnsFile]) -> list[str]:
    """A name of each policy: the given one, that in the table, its file's, or its path from where paths differ on."""
    names = [each.called or each.policy or each.path.name for each in data]
    if len({*names}) < len(names) == len(paths := {each.path.resolve() for each in data}):
        common = os.path.commonpath(paths)
        return [each.path.resolve().relative_to(common).as_posix() for each in data]
    return names


def told_unfinished(count: int, unfinished: float | None) -> str:
    """How many rollouts lack an outcome, and what they count as; empty for none."""
    return f"{count} without an outcome, counted as {unfinished:g}" if count else ""


def how_many(number: int | np.integer | str, noun: str) -> str:
    """A number with its noun, such as 1 task or 2 tasks."""
    return f"{number} {noun}{'' if str(number) == '1' else 's'}"


def span(counts: np.ndarray) -> str:
    """The fewest to the most of them; one number if all are equal."""
    fewest, most = counts.min(), counts.max()
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def check_missing(found: Returns, *, strict: bool, place: str = "") -> None:
    """Warn of missing rollouts, or refuse them."""
    if found.missing and strict:
        raise ValueError(f"{place}{found.missing}; expected as many of every task")
    if found.missing:
        why = OF_COUNTS if found.counted else AT_RANDOM
        warnings.warn(f"{place}{found.missing}: {why}", UserWarning, stacklevel=3)
