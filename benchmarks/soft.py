"""Soft counts beside the count, with few rollouts per task; what their weight and their bets should be.

    python -m benchmarks.soft

Certified risk at delta = 0.01, as medians over random subsets of tasks and rollouts, in four tables: by world and
number of rollouts, the soft count with its default weight beside the count at its default beta, and at its best beta in
hindsight; the soft count by its weight; by its bets; and for the samples, soft count and count where each task stops by
its own returns. The second and third as means over the worlds in which anything is certified, relative to the best
weight and bets for each.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from jaxcert.certificates._soft import BETS, default_alpha, soft_epsilon
from jaxcert.sequential import certify_sequential
from jaxcert.tasks import bridge_world, simple_grid

DELTA, NUM_SUBSETS = 0.01, 20
NUM_TASKS, NUM_ROLLOUTS = (200, 50), (1, 2, 5, 10, 20)
ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BETAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SETS = (BETS, (1.0,), (0.75,), (0.5,), (0.5, 1.0), (0.25, 0.5, 1.0), (0.5, 0.75, 1.0), (0.25, 0.75), (0.5, 0.9375))

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


class World(NamedTuple):
    """Returns [n, m] of random tasks and rollouts, in [0, high], and a threshold."""

    draw: Draw
    threshold: float
    high: float = 1.0
    binary: bool = False


# --- worlds -------------------------------------------------------------------------------------------------------


def _recorded(name: str) -> Draw:
    returns = jaxcert.sample_returns(name)

    def draw(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
        tasks = returns[rng.permutation(len(returns))[:n]]
        return rng.permuted(tasks, axis=1)[:, :m].astype(float)

    return draw


def _tosses(performances: np.ndarray) -> Draw:
    def draw(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
        return (rng.random((n, m)) < rng.choice(performances, n)[:, None]).astype(float)

    return draw


def _simulated(a: float, b: float, precision: float | None) -> Draw:
    """Performances from Beta(a, b); returns 0 or 1, or from a beta distribution of that precision."""

    def draw(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
        mean = rng.beta(a, b, (n, 1))
        if precision is None:
            return (rng.random((n, m)) < mean).astype(float)
        return rng.beta(precision * mean, precision * (1 - mean), (n, m))

    return draw


@functools.cache
def worlds() -> dict[str, World]:
    """By name."""
    grid = np.asarray(simple_grid.performance(simple_grid.ENV.sample_tasks(jax.random.key(1), 20_000)))
    slips = bridge_world.ENV.sample_tasks(jax.random.key(2), 5000)
    right, left = (
        np.asarray(bridge_world.performance(slips, policy()))
        for policy in (bridge_world.right_policy, bridge_world.left_policy)
    )
    samples = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}
    found = {f"{name}, {b:g}": World(_recorded(name), b, 1000.0) for name, levels in samples.items() for b in levels}
    for name, performances, b in (
        ("simple_grid", grid, 0.5),
        ("simple_grid", grid, 0.7),
        ("bridge_world, right", right, 0.6),
        ("bridge_world, right", right, 0.7),
        ("bridge_world, left", left, 0.5),
    ):
        found[f"{name}, {b}"] = World(_tosses(performances), b, binary=True)
    for a, b, threshold in ((9, 1, 0.6), (9, 1, 0.8), (20, 5, 0.5), (20, 5, 0.7)):
        for precision, what in ((None, "0 or 1"), (3, "wide"), (20, "narrow")):
            draw = _simulated(a, b, precision)
            found[f"Beta({a}, {b}), {what}, {threshold}"] = World(draw, threshold, binary=precision is None)
    return found


def subsets(world: World, n: int, m: int) -> np.ndarray:
    """[subsets, n, m]."""
    return np.stack([world.draw(np.random.default_rng(seed), n, m) for seed in range(NUM_SUBSETS)])


# --- certificates ---------------------------------------------------------------------------------------------------


def soft(x: np.ndarray, threshold: float, alphas: tuple[float, ...], bets: tuple[float, ...] = BETS) -> np.ndarray:
    """Median risk for each weight; support from 0."""
    products = [np.prod(1 - bet + bet * x / threshold, axis=-1) for bet in bets]
    wealth = np.mean(products, axis=0).T[..., None].repeat(len(alphas), axis=-1)  # [n, subsets, alphas]
    least = np.mean([(1 - bet) ** x.shape[-1] for bet in bets])
    found = _soft(*(jnp.asarray(v, jnp.float32) for v in (wealth, alphas, least * (1 - 1e-6))))
    return np.median(found, axis=-1)


@jax.jit
def _soft(wealth: jax.Array, alphas: jax.Array, least: jax.Array) -> jax.Array:
    delta = jnp.float32(DELTA)
    return jax.vmap(lambda e, alpha: soft_epsilon(e, alpha, delta, least), (2, 0))(wealth, alphas)


def count(x: np.ndarray, world: World) -> np.ndarray:
    """Median risk of the count for each of ``BETAS``."""
    bound = "clopper_pearson" if world.binary else "betting"
    settings = {"support": (0.0, world.high), "delta": DELTA, "bound": bound, "validate": False}
    returns, threshold = x.astype(np.float32), np.float32(world.threshold)
    found = [jaxcert.certify(returns, threshold, beta=np.float32(beta), **settings).epsilon for beta in BETAS]
    return np.median(np.asarray(found)[..., 0], axis=-1)


# --- tables ---------------------------------------------------------------------------------------------------------


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def _header(*names: str) -> None:
    _row(*names)
    _row(*["---"] * len(names))


def by_world(n: int) -> None:
    """Soft at the default weight, the count at its default beta, and at its best."""
    print(f"\nn = {n}: soft count / count at beta = {BETAS[0]} / count at its best beta\n")
    _header("world, threshold", *(f"m = {m}" for m in NUM_ROLLOUTS))
    for name, world in worlds().items():
        cells = []
        for m in NUM_ROLLOUTS:
            x = subsets(world, n, m)
            counts = count(x, world)
            risk = float(soft(x, world.threshold, (default_alpha(m),))[0])
            cells.append(f"{risk:.3f} / {counts[0]:.3f} / {counts.min():.3f}")
        _row(name, *cells)


def _excess(risks: np.ndarray) -> np.ndarray:
    """From risks [worlds, settings] to the geometric mean of their ratios to the least, where that is below 0.9."""
    least = risks.min(axis=1, keepdims=True)
    kept = least[:, 0] < 0.9
    return np.exp(np.mean(np.log(risks[kept] / least[kept]), axis=0))


def by_weight(n: int) -> None:
    """Risk relative to the best weight, by weight."""
    print(f"\nn = {n}: risk by weight, relative to the best; the last column is the default\n")
    _header("m", *map(str, ALPHAS), "default")
    for m in NUM_ROLLOUTS:
        alphas = (*ALPHAS, default_alpha(m))
        risks = np.stack([soft(subsets(world, n, m), world.threshold, alphas) for world in worlds().values()])
        _row(str(m), *(f"{value:.2f}" for value in _excess(risks)))


def by_bets(n: int) -> None:
    """Risk at the default weight relative to the best set of bets, by set."""
    print(f"\nn = {n}: risk by bets at the default weight, relative to the best; returns of 0 or 1 / others\n")
    _header("m", *(", ".join(map(str, bets)) for bets in SETS))
    for m in NUM_ROLLOUTS:
        parts = []
        for binary in (True, False):
            some = [world for world in worlds().values() if world.binary is binary]
            drawn = [(subsets(world, n, m), world.threshold) for world in some]
            parts.append(_excess(np.array([[soft(*d, (default_alpha(m),), b)[0] for b in SETS] for d in drawn])))
        _row(str(m), *(f"{first:.2f} / {second:.2f}" for first, second in zip(*parts, strict=True)))


def one_after_another(n: int) -> None:
    """``certify_sequential`` on the samples: risk and rollouts per task that it took."""
    print(f"\nn = {n}, each task until it is decided, at most m: soft count / count (rollouts per task)\n")
    _header("world, threshold", *(f"m = {m}" for m in NUM_ROLLOUTS))
    for name, world in worlds().items():
        if world.high > 1:
            _row(
                name,
                *(" / ".join(_stopped(world, n, m, method) for method in ("soft", "binomial")) for m in NUM_ROLLOUTS),
            )


def _stopped(world: World, n: int, m: int, method: str) -> str:
    x = subsets(world, n, m).astype(np.float32)
    settings = {"support": (0.0, world.high), "delta": DELTA, "method": method}
    found = certify_sequential(x, world.threshold, **settings)
    return f"{np.median(found.epsilon):.3f} ({np.mean(found.num_rollouts_used):.1f})"


def main() -> None:
    """Print the tables."""
    for n in NUM_TASKS:
        by_world(n)
        by_weight(n)
        by_bets(n)
        one_after_another(n)


if __name__ == "__main__":
    main()
