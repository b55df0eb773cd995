"""Time jaxcert beside the SciPy references and beside its floors, how its cost grows, and what it adds to other work.

    python -m benchmarks.speed [--only PART ...] [--megabytes 64] [--out speed.csv] [--plot speed.png]

certify     returns [200, 1000] float32 at 600 thresholds, beside both references
sweep       384,000 certificates from 10 seeds, per certificate beside both references
floors      each bound over the least that any implementation has to do over the same array: `jnp.mean` and `jnp.var`
            (Hoeffding, empirical Bernstein; with `where=` for masked returns), `jnp.sort` (DKW), one pass of log1p and
            sum (betting)
growth      the time against one size at a time, with the exponent from the first size; among them the certified risk
            at every k
summaries   10^6 tasks with 10^3 rollouts each, in batches, in the memory stated

First calls, which compile, are apart; every timing waits for its result; figures are medians, but for the plain SciPy
reference and the summaries, which run once; a bound and its floor take turns, so that a noisy machine slows both.

These print tables of their own, and are run if they are asked for:

first_calls CPU seconds and programs of four kinds of certificates at one shape, then at others; alone, in a new process
collect     `collect`, `certify_policy` and `certify_adaptive` beside a `vmap` of a `scan` by hand for the same
            environment, small network and keys; more environments with the extras gymnax and brax
"""

import functools
import os
import sys
from pathlib import Path

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # read when JAX is imported

from benchmarks._common import machine, parser, show, shown, write_rows
from benchmarks.speed.beside_rollouts import collecting
from benchmarks.speed.bounds import floors, summaries
from benchmarks.speed.certificates import certify, draw, growth, sweeps
from benchmarks.speed.compiling import first_calls

PARTS = {"certify": certify, "sweep": sweeps, "floors": floors, "growth": growth, "summaries": summaries}
TABLES = {"first_calls": first_calls, "collect": collecting}


def main() -> None:
    """Run the parts, print each row as it comes, write the table and the picture."""
    options = parser("speed", __doc__, (*PARTS, *TABLES))
    options.add_argument("--megabytes", type=int, default=64, help="size of the array for the floors")
    options.add_argument("--out", type=Path, help="write the rows as CSV")
    options.add_argument("--plot", type=Path, help="draw the rows of the part growth")
    given = options.parse_args()
    parts = {**PARTS, "floors": functools.partial(floors, given.megabytes)}
    wanted, rows = given.only or PARTS, []
    for name in wanted:
        if name in PARTS:
            rows += shown(parts[name]())
        else:
            show(TABLES[name]())
    if rows:
        print(machine())
    if given.out is not None:
        write_rows(rows, given.out)
        print(f"wrote {given.out}", file=sys.stderr)
    if given.plot is not None:
        draw(rows, given.plot)


if __name__ == "__main__":
    main()
