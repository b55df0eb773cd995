"""The seconds of the processor that each test takes, which `tests/budget.py` reads."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Names the folder into which every process of pytest writes a file; without it nothing is measured.
FOLDER = "JAXCERT_TEST_SECONDS"


def spent() -> float:
    """Of this process with all its threads, and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Recorder:
    """A plugin of pytest that writes a line for each test: its seconds and its name."""

    def __init__(self, folder: str):
        self._file = Path(folder, f"{os.getpid()}.txt")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """A test with its set-up, and with that of its module if it is the first there."""
        before = spent()
        result = yield
        with self._file.open("a") as file:
            print(f"{spent() - before:.3f} {item.nodeid}", file=file)
        return result


def read(folder: Path) -> dict[str, float]:
    """The seconds of each test."""
    lines = [line for file in sorted(folder.glob("*.txt")) for line in file.read_text().splitlines()]
    return {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}
