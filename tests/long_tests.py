"""Which tests `make test` leaves out besides those with the marker `slow`: the list that `tests/budget.py` writes.

A line is a file, a test with all of its cases, a test with all but its first case (``[...]``), or a single case.
"""

import itertools
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
_BUT_ONE = "[...]"


def entries() -> set[str]:
    """The lines of the list."""
    return {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}


def test_of(name: str) -> str:
    """The test of a case."""
    return name.partition("[")[0]


def file_of(name: str) -> str:
    """The file of a test."""
    return name.partition("::")[0]


def long_ones(names: Iterable[str], listed: Set[str]) -> set[str]:
    """Those of the cases that are in the list; of each test in their order."""
    seen, found = set(), set()
    for name in names:
        test = test_of(name)
        if not listed.isdisjoint((file_of(name), test, name)) or (test in seen and test + _BUT_ONE in listed):
            found.add(name)
        seen.add(test)
    return found


def lines(names: Sequence[str], long: Set[str]) -> list[str]:
    """The shortest list of which the long ones of these cases are all of its cases."""
    found = []
    for file, cases in _groups(names, file_of):
        if long.issuperset(cases):
            found.append(file)
            continue
        for test, each in _groups(cases, test_of):
            if long.issuperset(each):
                found.append(test)
            elif long.issuperset(each[1:]) and each[1:]:
                found.append(test + _BUT_ONE)
            else:
                found += [name for name in each if name in long]
    return sorted(found)


def _groups(names: Iterable[str], key) -> list[tuple[str, list[str]]]:
    """In their order, each in its group."""
    return [(name, list(each)) for name, each in itertools.groupby(sorted(names, key=key), key)]
