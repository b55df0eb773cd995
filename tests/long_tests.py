"""Which tests `make test` leaves out besides those with the marker `slow`: the list that `tests/budget.py` writes.

A line is a file, a test with all of its cases, a test with all but its first case (``[...]``), or a single case.
"""

from collections.abc import Iterable, Set
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
_BUT_ONE = "[...]"


def entries() -> set[str]:
    """The lines of the list."""
    return {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}


def test_of(name: str) -> str:
    """The test of a case."""
    return name.partition("[")[0]


def long_ones(names: Iterable[str], listed: Set[str]) -> set[str]:
    """Those of the cases that are in the list; of each test in their order."""
    seen, found = set(), set()
    for name in names:
        test = test_of(name)
        if not listed.isdisjoint((name.partition("::")[0], test, name)) or (test in seen and test + _BUT_ONE in listed):
            found.add(name)
        seen.add(test)
    return found
