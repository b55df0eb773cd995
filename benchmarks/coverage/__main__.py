"""How often every bound and every certificate fails, beside its level.

    python -m benchmarks.coverage [--only WORD] [--repetitions R] [--out benchmarks/results/coverage.csv]

Where the truth is exact: in easy worlds, in the worst case of the theory, with performances on the threshold, and with
returns of many laws. Cells fail if an exact binomial test at 1e-4 says so; averages taken for performances have to.
The exit status is 1 if anything comes out otherwise. Seeds are fixed.
"""

import sys
import time
from pathlib import Path

from benchmarks._common import parser
from benchmarks.coverage import end_to_end, given_bounds, one_task, pairs
from benchmarks.coverage.cell import Cell, simulate, summary, write, wrong


def cells() -> list[Cell]:
    """All, in the order in which they run; another group is another term."""
    return [*one_task.cells(), *given_bounds.cells(), *pairs.cells(), *end_to_end.cells()]


def main(arguments: list[str] | None = None) -> int:
    """Simulate what is asked for, by default all, and print the summary; the exit status."""
    given = parser("coverage", __doc__)
    given.add_argument("--only", action="append", metavar="WORD", help="cells whose name contains it; repeatable")
    given.add_argument("--repetitions", type=int, metavar="R", help="at most, for each cell")
    given.add_argument("--out", type=Path, help="file for all rows")
    options = given.parse_args(arguments)
    chosen = [cell for cell in cells() if not options.only or any(word in cell.name for word in options.only)]
    if not chosen:
        given.error(f"no cell's name contains any of {options.only}")
    begin, results = time.perf_counter(), []
    for number, cell in enumerate(chosen):
        results.append(simulate(cell, options.repetitions))
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {len(chosen)}", end="\r", file=sys.stderr, flush=True)
    print(f"{len(chosen)} cells in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    if options.out is not None:
        write(results, options.out)
    print(*summary(results), sep="\n")
    faults = wrong(results)
    print(*(f"FAILED: {fault}" for fault in faults), sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
