"""What `make test` takes of the processor where nothing is compiled, and which tests are long for that.

    python tests/budget.py            measure; the status is 1 if a test or all of them take more than they may
    python tests/budget.py --write    and put those that take more than their share into tests/long_tests.txt

Seconds are those of all processes together, with those of the system. On a slower machine, or beside other work, tests may
take as much more as a fixed piece of NumPy and of XLA does.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
import pytest
from long_tests import LIST, entries, lines, long_ones
from processor_time import FOLDER, read, spent

ROOT = Path(__file__).parents[1]
TOTAL, ONE = 300.0, 2.0
# What a test may take to stay short. More for those that compare numbers with exact ones, ask each question on each
# surface, or do what a user does first.
SHARE, OF_MOST_WORTH = 0.3, 1.0
MOST_WORTH = ("bounds/", "certificates/", "numerics/", "questions/", "returns/", "sequential/", "report/test_check_")
MOST_WORTH += ("test_conformance", "test_docs", "test_registries")
# Seconds of the fixed piece of work on the machine for which these numbers hold, and by how much two runs there differ.
UNIT, MARGIN = 2.0, 1.2


def unit() -> float:
    """Seconds that a fixed piece of work takes here."""
    before = spent()
    rng = np.random.default_rng(0)
    for _ in range(20):
        np.sort(rng.random((100, 10_000)), axis=1)

    def work(x: jax.Array) -> jax.Array:
        for i in range(40):
            x = jax.numpy.sort(jax.numpy.cumsum(x * i, axis=0), axis=0)
        return x

    jax.clear_caches()
    jax.jit(work).lower(np.ones((64, 8), np.float32)).compile()
    return spent() - before


def measured() -> tuple[int, float, dict[str, float]]:
    """Status and seconds of `make test` with nothing kept, and the seconds of each test."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("programs", "seconds"):
            Path(folder, name).mkdir()
        places = {"JAX_COMPILATION_CACHE_DIR": f"{folder}/programs", FOLDER: f"{folder}/seconds"}
        status = subprocess.run(["make", "test"], cwd=ROOT, env={**os.environ, **places}).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return status, used.ru_utime + used.ru_stime, read(Path(folder, "seconds"))


class _Collected:
    """A plugin of pytest that keeps the names of the tests without the marker `slow` of their own."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = [item.nodeid for item in session.items]


def write(seconds: dict[str, float]) -> None:
    """Add those that take more than their share to the list, and drop what is gone."""
    collected = _Collected()
    os.chdir(ROOT)
    pytest.main(["--collect-only", "-qq", "--no-summary", "-m", "not slow or listed"], plugins=[collected])
    long = long_ones(collected.names, entries()) | {name for name, taken in seconds.items() if taken > share(name)}
    LIST.write_text("\n".join(["# Written by `python tests/budget.py --write`.", *lines(collected.names, long), ""]))


def share(name: str) -> float:
    """The seconds that a test may take to stay short."""
    return OF_MOST_WORTH if name.removeprefix("tests/").startswith(MOST_WORTH) else SHARE


def main() -> None:
    """Measure, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="add to the list of long tests")
    options = parser.parse_args()
    before = unit()
    status, total, seconds = measured()
    slower = max(1.0, (before + unit()) / 2 / UNIT)
    each, most = ONE * slower * MARGIN, TOTAL * slower * MARGIN
    of_tests = sum(seconds.values())
    print(f"{len(seconds)} tests take {of_tests:.0f} s, `make test` {total:.0f} s; expected at most {most:.0f} s")
    long = sorted(name for name, taken in seconds.items() if taken > each)
    print(*(f"{name}: {seconds[name]:.1f} s, expected at most {each:.1f} s" for name in long), sep="\n")
    if options.write:
        write(seconds)
    sys.exit(status or bool(long) or total > most)


if __name__ == "__main__":
    main()
