"""How much of what known performances would certify is certified from rollouts.

    python -m benchmarks.tightness [--successes] [--out benchmarks/results/tightness.csv]

The performance certified on 50, 80, 90 and 95 % of new tasks (delta = 0.01) by every bound and method, as a share of
what ``jaxcert.baselines.certify_known_performances`` certifies from the performances of the same tasks: means over
seeds for worlds in which these are known, and the sample returns, where the average of all rollouts of a task has to
stand in for its performance. With --successes: the paper's domains whose returns are 0 or 1, few and many trials, by
one lower bound per task and by attained levels.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.paper.experiment import markdown
from benchmarks.tightness.ways import AFTER, BEFORE, SAFETIES, Way, certified, certified_if_known, ways
from benchmarks.tightness.worlds import SUCCESSES, WORLDS, World, draw

RESULTS = Path(__file__).parents[1] / "results" / "tightness.csv"
RESULTS_OF_SUCCESSES = RESULTS.with_stem("tightness_successes")
SIZES = ((50, 100), (100, 300), (200, 1000))
SIZES_OF_SUCCESSES = ((200, 10), (200, 50), (200, 1000))
NUM_SEEDS = 40


class Row(NamedTuple):
    """One line of the file; performances are means over the seeds, the share is the ratio of these."""

    world: str
    num_tasks: int
    num_rollouts: int
    seeds: int
    bound: str
    method: str
    safety: float
    known: float
    certified: float

    @property
    def share(self) -> float:
        """Of what known performances certify; NaN where they certify nothing."""
        return self.certified / self.known if self.known > 0 else float("nan")


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables and write the file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tightness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, help="file for the rows")
    parser.add_argument("--successes", action="store_true", help="the part on successes and failures alone")
    given = parser.parse_args(arguments)
    out = given.out or (RESULTS_OF_SUCCESSES if given.successes else RESULTS)
    rows = []
    for found in of_successes() if given.successes else measured():
        print("\n".join(table(found)), end="\n\n", flush=True)
        rows += found
    write(out, rows)


def measured() -> Iterator[list[Row]]:
    """The rows of one world and size after another."""
    for name in ("cheetah", "walker"):
        yield of_sample(name)
    for name in WORLDS:
        for size in SIZES:
            yield of_world(name, *size)


def of_successes() -> Iterator[list[Row]]:
    """The rows of one world and number of trials after another, before and after."""
    for name in SUCCESSES:
        for size in SIZES_OF_SUCCESSES:
            yield of_world(name, *size, (BEFORE, AFTER))


def of_sample(name: str) -> list[Row]:
    """From all returns of a sample, whose averages stand in for performances."""
    returns = jnp.asarray(jaxcert.sample_returns(name))[None]
    return _rows(name, jnp.mean(returns, axis=-1), returns, ways(binary=False), high=1000.0)


def of_world(name: str, num_tasks: int, num_rollouts: int, chosen: Sequence[Way] | None = None) -> list[Row]:
    """Means over the seeds; in the chosen ways, by default in all that there are."""
    world = {**WORLDS, **SUCCESSES}[name]
    known, returns = drawn(world, num_tasks, num_rollouts)
    return _rows(name, known, returns, chosen or ways(binary=world.binary))


def drawn(world: World, n: int, m: int) -> tuple[jax.Array, jax.Array]:
    """J, [seeds, n], and returns [seeds, n, m]."""
    keys = jax.vmap(jax.random.key)(jnp.arange(NUM_SEEDS))
    return jax.jit(jax.vmap(lambda key: draw(world, key, n, m)))(keys)


def _rows(name: str, known: jax.Array, returns: jax.Array, chosen: Sequence[Way], high: float = 1.0) -> list[Row]:
    seeds, n, m = returns.shape
    best = np.asarray(certified_if_known(known), float).mean(axis=0)
    rows = []
    for way in chosen:
        reached = np.asarray(certified(returns, way, high), float).mean(axis=0)
        figures = zip(SAFETIES, best.tolist(), reached.tolist(), strict=True)
        rows += [Row(name, n, m, seeds, *way, *each) for each in figures]
    return rows


def table(rows: list[Row]) -> list[str]:
    """Of one world and size: a line per way, the share at each safety."""
    first, ways_here = rows[0], list(dict.fromkeys((row.bound, row.method) for row in rows))
    columns = [f"{first.world}, {first.num_tasks} × {first.num_rollouts}", *(f"{safety:.0%}" for safety in SAFETIES)]
    known = ["known performances certify", *(f"{row.known:.4g}" for row in rows[: len(SAFETIES)])]
    shares = [[f"{b}, {m}", *(_percent(r.share) for r in rows if r[4:6] == (b, m))] for b, m in ways_here]
    return markdown(columns, [known, *shares])


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.1%}"


def write(path: Path, rows: list[Row]) -> None:
    """Six figures are enough."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Row._fields, "share"])
        writer.writerows([_cell(value) for value in (*row, row.share)] for row in rows)


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
