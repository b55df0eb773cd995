"""Which tests `make test` leaves out besides those with the marker `slow`: a list, so that doctests can be in it."""

from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
# After a test: all of its cases but the first.
BUT_ONE = "[...]"


def entries() -> list[str]:
    """Files, tests, tests with ``BUT_ONE``, and single cases of tests, by their names in pytest."""
    lines = (line.strip() for line in LIST.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def long_ones(names: Iterable[str], listed: Iterable[str]) -> set[str]:
    """Those of the tests that are in the list."""
    listed, seen, found = set(listed), set(), set()
    for name in names:
        file, test = name.partition("::")[0], name.partition("[")[0]
        if not listed.isdisjoint((file, test, name)) or (test in seen and test + BUT_ONE in listed):
            found.add(name)
        seen.add(test)
    return found
