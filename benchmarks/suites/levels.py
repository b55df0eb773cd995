"""How many tasks are certified by a few levels, and by the best number of successes in hindsight."""

import csv
import functools
import itertools
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import stats

import jaxcert
from benchmarks.attained import LAWS as MORE_LAWS
from benchmarks.attained import Law
from jaxcert.certificates._suite_counts import USUAL_LEVELS
from jaxcert.rollouts.summaries import Histogram

TASKS, TRIALS = (10, 20, 40, 100, 200), (4, 5, 10, 20, 50, 100)
THRESHOLDS, DELTAS = np.asarray([0.5, 0.8, 0.9], np.float32), (0.01, 0.05)
LAWS: dict[str, Law] = {
    "Beta(9, 1)": MORE_LAWS["Beta(9, 1)"],
    "Beta(20, 2)": MORE_LAWS["Beta(20, 2)"],
    "Beta(5, 2)": lambda rng, shape: rng.beta(5, 2, shape),
    ".95, 5 % at .3": MORE_LAWS[".95, 5 % at .3"],
    ".98, 20 % at .4": lambda rng, shape: np.where(rng.random(shape) < 0.2, 0.4, 0.98),
    "all .9": MORE_LAWS["all .9"],
    "all .97": lambda rng, shape: np.full(shape, 0.97),
}
SETS = (
    USUAL_LEVELS,
    (0.01,),
    (0.05,),
    (0.2,),
    (0.05, 0.3),
    (0.01, 0.05, 0.2),
    (0.02, 0.1, 0.3),
    (0.002, 0.02, 0.1, 0.3),
    (0.005, 0.02, 0.08, 0.25, 0.6),
)
REPETITIONS, SEED = 12, 1
COLUMNS = ("num_tasks", "num_rollouts", "threshold", "delta", "law", "in_hindsight")
Row = dict[str, float | int | str]
# What goes with a summary of successes.
SUCCESSES = {"support": (0, 1), "bound": "clopper_pearson", "validate": False}


def table(out: Path | None) -> list[str]:
    """Of all worlds, whose rows are written to the file."""
    rows = [row for n, m in itertools.product(TASKS, TRIALS) for row in worlds(n, m)]
    if out is not None:
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return levels_tables(rows)


def levels_tables(rows: list[Row]) -> list[str]:
    """By the number of tasks, and by the set of levels."""
    usual = name_of(USUAL_LEVELS)
    lines = ["| n | in hindsight | usual levels | tasks fewer | nothing |", "|---|---|---|---|---|"]
    for n in sorted({int(row["num_tasks"]) for row in rows}):
        best, found = _columns([row for row in rows if int(row["num_tasks"]) == n], usual)
        nothing = np.mean(found[best >= 1] == 0)
        lines.append(
            f"| {n} | {best.mean() / n:.3f} | {found.mean() / n:.3f} | {(best - found).mean():.2f} | {nothing:.1%} |"
        )
    lines += ["", "| levels | share of tasks fewer: mean | 90 % | most | nothing |", "|---|---|---|---|---|"]
    n = np.asarray([float(row["num_tasks"]) for row in rows])
    for levels in map(name_of, SETS):
        best, found = _columns(rows, levels)
        less, nothing = ((best - found) / n)[best > 0], np.mean(found[best >= 1] == 0)
        lines.append(
            f"| {levels} | {less.mean():.4f} | {np.quantile(less, 0.9):.3f} | {less.max():.3f} | {nothing:.1%} |"
        )
    return lines


def _columns(rows: list[Row], levels: str) -> tuple[np.ndarray, np.ndarray]:
    best, found = (np.asarray([float(row[name]) for row in rows]) for name in ("in_hindsight", levels))
    return best, found


def name_of(levels: tuple[float, ...]) -> str:
    """Of a column."""
    return " ".join(f"{level:g}" for level in levels)


def worlds(n: int, m: int) -> list[Row]:
    """How many tasks are certified on average, for each threshold, delta and law."""
    rng = np.random.default_rng([SEED, n, m])
    counts = np.stack([rng.binomial(m, law(rng, (REPETITIONS, n))) for law in LAWS.values()])
    rows: list[Row] = []
    for delta in DELTAS:
        found = {name_of(levels): _certified(counts, m, delta, levels) for levels in SETS}
        for t, threshold in enumerate(THRESHOLDS.tolist()):
            best = in_hindsight(counts, m, threshold, delta)
            for place, law in enumerate(LAWS):
                values = (n, m, round(threshold, 6), delta, law, round(float(best[place]), 4))
                others = {name: round(float(each[place, t]), 4) for name, each in found.items()}
                rows.append(dict(zip(COLUMNS, values, strict=True)) | others)
    return rows


def successes(counts: np.ndarray, m: int | np.ndarray) -> Histogram:
    """Summaries [..., n], whose shape is the same for every number of trials."""
    both = jnp.asarray(np.stack([m - counts, counts], axis=-1), jnp.int32)
    return Histogram(jnp.asarray([0.0, 1.0]), jnp.asarray(1.0), both, jnp.ones(counts.shape, bool))


def certify_counts(
    counts: np.ndarray, m: int | np.ndarray, thresholds: np.ndarray, **options: Any
) -> jaxcert.certificates.SuiteCertificate:
    """The certificate of numbers of successes [..., n] of m trials."""
    return jaxcert.certify_suite(successes(counts, m), thresholds, **SUCCESSES, **options)


def _certified(counts: np.ndarray, m: int, delta: float, levels: tuple[float, ...]) -> np.ndarray:
    """The mean number of certified tasks, [laws, thresholds]."""
    found = certify_counts(counts, m, THRESHOLDS, delta=delta, betas=np.asarray(levels, np.float32))
    return np.asarray(found.num_good).mean(axis=1)


def in_hindsight(counts: np.ndarray, m: int, threshold: float, delta: float) -> np.ndarray:
    """The same for the best c of each law, from counts [laws, repetitions, n]."""
    n = counts.shape[-1]
    means = []
    for c in range(1, m + 1):
        k = np.sum(counts < c, axis=-1)
        means.append((n - _bad_tasks(n, float(stats.binom.sf(c - 1, m, threshold)), delta)[k]).mean(axis=-1))
    return np.max(means, axis=0)


@functools.lru_cache(maxsize=4096)
def _bad_tasks(n: int, level: float, delta: float) -> np.ndarray:
    """How many tasks may be bad if k = 0, ..., n do not pass at one level."""
    k, v = np.arange(n + 1)[:, None], np.arange(n + 1)
    possible = (stats.binom.cdf(k, v, 1 - level) > delta) & (v >= k)
    return np.max(np.where(possible, v, k), axis=1)
