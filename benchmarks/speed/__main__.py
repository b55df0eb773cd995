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
tasks       BridgeWorld: 10^7 episodes, and [200, 1000] rollouts with their certificate in one call

First calls, which compile, are apart; every timing waits for its result; figures are medians, but for the plain SciPy
reference and the summaries, which run once; a bound and its floor take turns, so that a noisy machine slows both.

These print tables of their own, and are run if they are asked for:

first_calls CPU seconds and programs of four kinds of certificates at one shape, then at others; alone, in a new process
collect     `collect`, `certify_policy` and `certify_adaptive` beside a `vmap` of a `scan` by hand for the same
            environment, small network and keys; more environments with the extras gymnax and brax
"""

import os
import sys
import warnings
from pathlib import Path

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # read when JAX is imported

from benchmarks._common import machine, parser, show, write_csv
from benchmarks.speed.beside_rollouts import collecting
from benchmarks.speed.bounds import floors, summaries
from benchmarks.speed.certificates import certify, draw, growth, sweeps
from benchmarks.speed.compiling import first_calls
from benchmarks.speed.rows import Row
from benchmarks.speed.tasks import tasks

PARTS = ("certify", "sweep", "floors", "growth", "summaries", "tasks")
TABLES = {"first_calls": first_calls, "collect": collecting}


def main() -> None:
    """Run the parts, print each row as it comes, write the table and the picture."""
    options = parser("speed", __doc__, (*PARTS, *TABLES))
    options.add_argument("--megabytes", type=int, default=64, help="size of the array for the floors")
    options.add_argument("--out", type=Path, help="write the rows as CSV")
    options.add_argument("--plot", type=Path, help="draw the rows of the part growth")
    given = options.parse_args()
    wanted = given.only or PARTS
    warnings.filterwarnings("ignore", "scenario at beta", UserWarning)
    for name in wanted:
        if name not in PARTS:
            show(TABLES[name]())
    rows = _rows([name for name in wanted if name in PARTS], given.megabytes)
    if given.out is not None:
        write_csv(given.out, [*Row._fields, "machine"], [(*row, machine()) for row in rows])
        print(f"wrote {given.out}", file=sys.stderr)
    if given.plot is not None:
        draw(rows, given.plot)


def _rows(wanted: list[str], megabytes: int) -> list[Row]:
    parts = {"certify": certify, "sweep": sweeps, "floors": lambda: floors(megabytes), "growth": growth}
    parts |= {"summaries": summaries, "tasks": tasks}
    rows = []
    for name in wanted:
        for row in parts[name]():
            print(_shown(row), flush=True)
            rows.append(row)
    if rows:
        print(machine())
    return rows


def _shown(row: Row) -> str:
    first = "" if row.first_call_seconds is None else f"  first call {row.first_call_seconds:.2f} s"
    memory = "" if row.megabytes is None else f"  {row.megabytes:.1f} MB"
    ratio = "" if row.ratio is None else f"  {row.ratio:.4g} {row.ratio_is}"
    return f"{row.part:10}{row.name:40}{row.size:24}{1e3 * row.seconds:12.3f} ms{ratio}{first}{memory}"


if __name__ == "__main__":
    main()
