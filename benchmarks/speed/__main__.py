"""Time jaxcert beside the SciPy references and beside its floors, and how its cost grows, in one run.

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
rollouts    soft counts; rollouts until tasks are decided, on BridgeWorld and zones; rollouts with their certificate in
            one call, on zones and, where its engine is installed, of the cheetah: [200, 1000] on a GPU, fewer elsewhere

First calls, which compile, are apart; every timing waits for its result; figures are medians, but for the plain SciPy
reference and the summaries, which run once; a bound and its floor take turns, so that a noisy machine slows both.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path

from benchmarks.speed.certify import certify
from benchmarks.speed.floors import floors
from benchmarks.speed.growth import draw, growth
from benchmarks.speed.rollouts import rollouts
from benchmarks.speed.summaries import summaries
from benchmarks.speed.sweeps import sweeps
from benchmarks.speed.tasks import tasks
from benchmarks.speed.timing import Row, machine

PARTS = ("certify", "sweep", "floors", "growth", "summaries", "tasks", "rollouts")


def main() -> None:
    """Run the parts, print each row as it comes, write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which parts; all by default")
    parser.add_argument("--megabytes", type=int, default=64, help="size of the array for the floors")
    parser.add_argument("--out", type=Path, help="write the rows as CSV")
    parser.add_argument("--plot", type=Path, help="draw the rows of the part growth")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "scenario at beta", UserWarning)
    parts = {
        "certify": certify,
        "sweep": sweeps,
        "floors": lambda: floors(options.megabytes),
        "growth": growth,
        "summaries": summaries,
        "tasks": tasks,
        "rollouts": rollouts,
    }
    rows = []
    for name in options.only:
        for row in parts[name]():
            show(row)
            rows.append(row)
    print(machine())
    if options.out is not None:
        write(rows, options.out)
    if options.plot is not None:
        draw(rows, options.plot)


def show(row: Row) -> None:
    """Print one line."""
    first = "" if row.first_call_seconds is None else f"  first call {row.first_call_seconds:.2f} s"
    memory = "" if row.megabytes is None else f"  {row.megabytes:.1f} MB"
    ratio = "" if row.ratio is None else f"  {row.ratio:.4g} {row.ratio_is}"
    print(f"{row.part:10}{row.name:40}{row.size:24}{1e3 * row.seconds:12.3f} ms{ratio}{first}{memory}", flush=True)


def write(rows: list[Row], out: Path) -> None:
    """Write the rows as CSV with the machine in a last column."""
    with out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*Row._fields, "machine"])
        writer.writerows([*row, machine()] for row in rows)
    print(f"wrote {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
