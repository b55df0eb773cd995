"""The performance certified on a wanted share of new tasks, beside what known performances certify."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import RESULTS, markdown, write_csv
from benchmarks.tightness.worlds import SUCCESSES, WORLDS, World, draw
from jaxcert import certify, certify_safety_level
from jaxcert.baselines import certify_known_performances, certify_plug_in

DELTA = 0.01
SAFETIES = (0.5, 0.8, 0.9, 0.95)
SIZES = ((50, 100), (100, 300), (200, 1000))
SIZES_OF_SUCCESSES = ((200, 10), (200, 50), (200, 1000))
NUM_SEEDS = 40
FILE, FILE_OF_SUCCESSES = RESULTS / "tightness.csv", RESULTS / "tightness_successes.csv"
# Seeds are taken in blocks of so many, for the memory.
_BLOCK = 5
# By which a bisection has found a threshold to a hundred-thousandth of the support.
_STEPS = 17


class Way(NamedTuple):
    """A bound per task, and a method over tasks."""

    bound: str
    method: str


_NAMES = ("betting", "clopper_pearson", "empirical_bernstein", "dkw", "hoeffding")
SOFT, PLUG_IN = Way("betting", "soft"), Way("plug_in", "no certificate")
# Of successes: one lower bound per task, and the levels that their numbers attain.
BEFORE, AFTER = Way("clopper_pearson", "binomial"), Way("clopper_pearson", "attained")
WAYS = (*(Way(name, method) for method in ("binomial", "scenario") for name in _NAMES), SOFT, PLUG_IN)


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


def of_all() -> Iterator[str]:
    """The tables of both samples, and of all worlds and sizes."""
    worlds = (of_world(name, *size) for name in WORLDS for size in SIZES)
    yield from _written(itertools.chain(map(of_sample, ("cheetah", "walker")), worlds), to=FILE)


def of_successes() -> Iterator[str]:
    worlds = (of_world(name, *size, (BEFORE, AFTER)) for name in SUCCESSES for size in SIZES_OF_SUCCESSES)
    yield from _written(worlds, to=FILE_OF_SUCCESSES)


def _written(worlds: Iterable[list[Row]], to: Path) -> Iterator[str]:
    rows = []
    for found in worlds:
        yield from (*table(found), "")
        rows += found
    write_csv(to, [*Row._fields, "share"], [(*row, row.share) for row in rows])


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
    return [*markdown(columns, [known, *shares])]


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.1%}"


# --- what is certified --------------------------------------------------------------------------------------------


def ways(*, binary: bool) -> list[Way]:
    return [way for way in WAYS if binary or way.bound != "clopper_pearson"]


def certified(returns: jax.Array, way: Way, high: float = 1.0) -> jax.Array:
    """Returns [seeds, n, m] in [0, high] to performances [seeds, safeties]; 0 where nothing is certified."""
    if way == SOFT:
        return _soft(returns, high)
    if way == PLUG_IN:
        return certified_if_known(certify_plug_in(returns, 0.0, delta=DELTA).lower_bounds)
    settings = {"support": (0.0, high), "delta": DELTA, **way._asdict()}
    # One call per safety, since each has a beta of its own.
    found = [certify_safety_level(returns, safety, **settings).thresholds for safety in SAFETIES]
    return jnp.concatenate(found, axis=-1)


@jax.jit
def certified_if_known(performances: jax.Array) -> jax.Array:
    """J, [seeds, n], to performances [seeds, safeties]; 0 where nothing is certified, however good the tasks are."""
    return jax.lax.map(_of_known, performances, batch_size=_BLOCK)


def _of_known(known: jax.Array) -> jax.Array:
    """The largest J with the wanted safety, as ``certify_safety_level`` takes the largest lower bound."""
    safety = certify_known_performances(known, known, delta=DELTA).safety
    return jnp.max(jnp.where(safety >= _wanted(known)[:, None], known, 0), axis=-1)


def _wanted(like: jax.Array) -> jax.Array:
    return jnp.asarray(SAFETIES, like.dtype)


@functools.partial(jax.jit, static_argnames="high")
def _soft(returns: jax.Array, high: float) -> jax.Array:
    return jax.lax.map(lambda x: _largest_threshold(x, high), returns, batch_size=_BLOCK)


def _largest_threshold(returns: jax.Array, high: float) -> jax.Array:
    """With the wanted safety by soft counts; sound, since their risk increases with the threshold."""
    wanted = _wanted(returns)

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        middle = (ends[0] + ends[1]) / 2
        found = certify(returns, middle, support=(0.0, high), delta=DELTA, method="soft")
        good = found.safety >= wanted
        return jnp.where(good, middle, ends[0]), jnp.where(good, ends[1], middle)

    start = jnp.zeros_like(wanted), jnp.full_like(wanted, high)
    return jax.lax.fori_loop(0, _STEPS, halve, start)[0]
