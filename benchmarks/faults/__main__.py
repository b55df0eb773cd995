"""Plant faults, one at a time, and see whether the tests that are always run find them.

    python -m benchmarks.faults [--only NAME ...] [--processes 2] [--area] [--list]

Each fault of ``planted.py`` is planted in a temporary copy of the tree. There `make test`'s two runs go on until a
test fails: first the area's, then the others (with ``--area``, none). A test that fails in the tree itself, too, finds
nothing. The exit status is 1 if a fault was not found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks._common import parser
from benchmarks.faults.planted import FAULTS, Fault

ROOT = Path(__file__).parents[2]
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "site", "build", "dist", "jaxcert-demo")
# A fault may make a loop endless.
_SECONDS = 3600
# `make test`'s: what is exact is compiled as users compile it, all else quickly.
RUNS = (
    ("not slow and not exact", {"JAX_DISABLE_MOST_OPTIMIZATIONS": "true"}),
    ("not slow and exact", {}),
)
# They look for the text that each fault replaces, and would find them all.
_ABOUT_FAULTS = "tests/benchmarks/test_faults.py"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


def plant(fault: Fault, tree: Path) -> None:
    """Replace the text of a fault, which has to stand in its file exactly once."""
    file = tree / "jaxcert" / fault.file
    content = file.read_text()
    if content.count(fault.text) != 1:
        raise SystemExit(f"{fault.name}: {fault.file} has {content.count(fault.text)} times {fault.text!r}; expected 1")
    file.write_text(content.replace(fault.text, fault.instead))


def first_failure(tree: Path, tests: Sequence[str], processes: int) -> str | None:
    """The first of the tests that fails in that tree, in either of `make test`'s two runs; None if all pass."""
    failures = (_failure_of_run(tree, tests, processes, *run) for run in RUNS)
    return next((failure for failure in failures if failure), None)


def _failure_of_run(
    tree: Path, tests: Sequence[str], processes: int, marked: str, settings: dict[str, str]
) -> str | None:
    options = ["-q", "-x", "-m", marked, "-p", "no:cacheprovider", "--color=no", f"--ignore={_ABOUT_FAULTS}"]
    command = [sys.executable, "-m", "pytest", *options, *(["-n", str(processes)] if processes > 1 else []), *tests]
    environment = {**os.environ, **settings, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"}
    try:
        ended = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end after {_SECONDS} s"
    failures = _FAILED.findall(ended.stdout)
    if ended.returncode not in (0, 1, pytest.ExitCode.NO_TESTS_COLLECTED) and not failures:
        raise SystemExit(f"{' '.join(command)} ended with status {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return failures[0] if failures else None


def found_by(fault: Fault, processes: int, *, area: bool) -> str | None:
    """The test that finds a fault, and that passes without it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)
        plant(fault, tree)
        failure = first_failure(tree, [fault.area], processes)
        if failure is None and not area:
            failure = first_failure(tree, [f"--ignore={fault.area}"], processes)
    if failure is not None and "::" in failure and first_failure(ROOT, [failure], 1) is not None:
        raise SystemExit(f"{failure} fails without any fault, too; expected tests that pass")
    return failure


def main() -> None:
    """Plant the chosen faults and print a line for each."""
    given = parser("faults", __doc__, [fault.name for fault in FAULTS])
    given.add_argument("--processes", type=int, default=2, help="of the tests; 2 by default")
    given.add_argument("--area", action="store_true", help="run the tests of each fault's area alone")
    given.add_argument("--list", action="store_true", help="print the faults, and run nothing")
    options = given.parse_args()
    chosen = [fault for fault in FAULTS if not options.only or fault.name in options.only]
    missed = 0
    for fault in chosen:
        if options.list:
            print(f"{fault.name:32} {fault.file}: {fault.text}  ->  {fault.instead}")
            continue
        start = time.perf_counter()
        test = found_by(fault, options.processes, area=options.area)
        missed += test is None
        print(f"{fault.name:32} {time.perf_counter() - start:6.0f} s  {test or 'NOT FOUND'}", flush=True)
    if not options.list:
        print(f"{len(chosen) - missed} of {len(chosen)} faults found")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
