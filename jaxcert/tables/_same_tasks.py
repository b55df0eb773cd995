"""Whether tasks of the same label are the same task in the tables of several policies, by their other columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jaxcert.tables._coded import Coded, combined, pair_counts
from jaxcert.tables._entries import as_seen, as_text, ask
from jaxcert.tables._pooled import nested
from jaxcert.tables._told_names import may_tell_tasks

_MOST_NAMED, _NO_ENTRY = 4, {"", "nan"}


def entries_of_tasks(names: Iterable[Any], task: Coded, column: Callable[[Any], Coded]) -> dict[str, dict[Any, str]]:
    """Of each column that may tell which task it was, and has one entry for each: this entry by the task's label."""
    several, found = len(task.places) >= 2 * len(task.entries), {}
    for name, entries in (pair for each in names for pair in nested(each, column(each))):
        is_one = len(entries.entries) > 1 and len(pair_counts(task, entries)) == len(task.entries)
        if is_one and may_tell_tasks(name, several=several):
            found[str(name)] = {label: as_text(entry) for label, entry in combined(task, entries)[0]}
    return found


def ask_about_other_tasks(names: Sequence[str], held: Sequence[Mapping[str, Mapping[Any, str]]]) -> None:
    """Warn of columns with one entry for each task in the tables of two policies, and not the same one."""
    differ = {}
    for name, each in zip(names[1:], held[1:], strict=True):
        for column in (column for column in each if column in held[0] and column not in differ):
            pairs = [(label, held[0][column][label], entry) for label, entry in each[column].items()]
            others = [pair for pair in pairs if as_seen(pair[1]) != as_seen(pair[2]) and not _NO_ENTRY & {*pair[1:]}]
            if others:
                label, one, other = others[0]
                told = f"task {label!s:.40} has {one!r:.40} in {names[0]}, {other!r:.40} in {name}"
                differ[column] = f"{column:.40} ({told}; {len(others)} of {len(pairs)} tasks)"
    if differ:
        ask(
            f"tasks of the same label differ in {', '.join([*differ.values()][:_MOST_NAMED])}: if it tells which task "
            "it was, the policies were not tried on the same tasks"
        )
