"""Certificates from lower bounds that are drawn as they may be at worst, with exact probabilities.

A task with J >= B always passes; one with J < B passes with probability beta. No certificate from bounds at level beta
meets anything harder.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.coverage.cell import Cell
from benchmarks.coverage.laws import FINE, happens
from jaxcert.certificates._counting import best_of_levels
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._registry import COUNTING, chosen_levels
from jaxcert.certificates._safety_level import allowed_counts

N, DELTA, REPETITIONS, CHUNK = 50, 0.05, 100_000, 25_000
THRESHOLD = float(np.float32(0.7))  # the bounds of good tasks are exactly there


class Counted(NamedTuple):
    """A certificate of one threshold.

    Attributes:
        kind: its name.
        epsilon: from a p-value for each task, [size, N], at most beta where it passes at level beta, to risks [size].
        table: risks at k = 0, ..., N - 1 violations, in whose neighbourhood it fails most often.
    """

    kind: str
    epsilon: Callable[[jax.Array], jax.Array]
    table: Callable[[], Any]


def _by_count(kind: str, beta: float, epsilon: Callable[[Any], Any]) -> Counted:
    """From a function of the number of violations."""
    return Counted(kind, lambda p: epsilon(N - jnp.sum(p <= beta, axis=-1)), lambda: epsilon(np.arange(N)))


def _binomial(beta: float) -> Counted:
    def epsilon(k: Any) -> jax.Array:
        return jaxcert.binomial_epsilon(k, N, beta, DELTA)

    return _by_count(f"binomial_epsilon, beta = {beta}", beta, epsilon)


def _scenario(beta: float) -> Counted:
    def epsilon(k: Any) -> jax.Array:
        return jaxcert.scenario_epsilon(k, N, beta, DELTA).epsilon

    return _by_count(f"scenario_epsilon, beta = {beta:g}", beta, epsilon)


def _by_method(method: str, beta: float) -> Counted:
    def epsilon(p: jax.Array) -> jax.Array:
        lower = jnp.where(p <= beta, jnp.float32(THRESHOLD), 0)
        options = {"delta": DELTA, "beta": beta, "method": method, "validate": False}
        return jaxcert.certify_lower_bounds(lower, THRESHOLD, **options).epsilon[..., 0]

    return Counted(f"certify_lower_bounds, {method}, beta = {beta:g}", epsilon, lambda: epsilon(_every_count()))


def _auto(p: jax.Array) -> jax.Array:
    levels = chosen_levels(BINOMIAL, np.float32(DELTA), N)
    lower = jnp.where(p[None] <= levels.betas[:, None, None], jnp.float32(THRESHOLD), 0)
    wanted = jnp.asarray([THRESHOLD], jnp.float32)
    return _best(lower, wanted, *levels, jnp.float32(DELTA))


@jax.jit
def _best(lower, wanted, betas, delta_each, delta) -> jax.Array:
    return best_of_levels(BINOMIAL, lower, N, wanted, betas, delta_each, delta, None)["epsilon"][..., 0]


def _every_count() -> jax.Array:
    """P-values with k = 0, ..., N - 1 violations at each level."""
    return jnp.asarray(np.arange(N) < np.arange(N)[:, None], jnp.float32)


SMALL = DELTA / N  # the paper's choice, at which its theorem is sound
COUNTED = (
    _binomial(0.05),
    _binomial(0.5),
    _scenario(SMALL),
    *(_by_method(method, beta) for method in COUNTING for beta in (SMALL, 0.05)),
    Counted("beta auto from p-values", _auto, lambda: _auto(_every_count())),
)


def risks(counted: Counted) -> dict[str, float]:
    """Just above a certified risk, where failures are most likely; and with all tasks bad."""
    table = np.asarray(counted.table(), float)
    near = {f"worst case at k = {k}": (np.floor(table[k] * FINE) + 1) / FINE for k in (0, 3, 12) if table[k] < 1}
    return near | {"worst case, no good task": 1.0}


def _counted_cells() -> Iterator[Cell]:
    for counted in COUNTED:
        yield _cell(counted, "easy", 0.3, hard=False)
        for case, risk in risks(counted).items():
            yield _cell(counted, case, risk)


def _cell(counted: Counted, case: str, risk: float, *, hard: bool = True) -> Cell:
    def failed(key: jax.Array, size: int) -> np.ndarray:
        p = _p_values(key, np.float32(risk), size=size, hard=hard)
        return np.asarray(counted.epsilon(p), np.float64) < risk

    return Cell(counted.kind, case, DELTA, failed, REPETITIONS, CHUNK)


@functools.partial(jax.jit, static_argnames=("size", "hard"))
def _p_values(key: jax.Array, risk: jax.Array, *, size: int, hard: bool) -> jax.Array:
    """0 for good tasks; for others uniform, or 1 in the easy case."""
    first, second = jax.random.split(key)
    bad = happens(first, (size, N), risk)
    uniform = 1 - jax.random.uniform(second, (size, N))  # in (0, 1]
    return jnp.where(bad, uniform if hard else 1.0, 0.0)


# --- all thresholds together: performances uniform on multiples of 1 / FINE, so that P[J < B] = B at each -------------


class Curve(NamedTuple):
    """A certificate of several thresholds: from lower bounds at a level to whether any of it is wrong."""

    kind: str
    beta: float
    wrong: Callable[[jax.Array], np.ndarray]


def _band(name: str, **options: Any) -> Curve:
    def wrong(lower: jax.Array) -> np.ndarray:
        settings = {"delta": DELTA, "beta": 0.05, "low": 0.0, "validate": False}
        found = jaxcert.certify_lower_bounds_band(lower, None, **settings, **options)
        return np.any(np.asarray(found.epsilon, float) < at_risk(found.thresholds), axis=-1)

    return Curve(f"certify_lower_bounds_band, {name}", 0.05, wrong)


def at_risk(thresholds: Any) -> np.ndarray:
    """P[J < B] at the drawn lower bounds."""
    return np.minimum(np.asarray(thresholds, float), 1.0)


def _levels(kind: str, safeties: tuple[float, ...], beta: Any, num_allowed: Any) -> Curve:
    counts = np.asarray(num_allowed)

    def wrong(lower: jax.Array) -> np.ndarray:
        reached = np.sort(np.asarray(lower), axis=-1)[:, np.maximum(counts - 1, 0)]
        return np.any((counts > 0) & (1 - at_risk(reached) < safeties), axis=-1)

    return Curve(kind, float(beta), wrong)


def curves() -> Iterator[Curve]:
    yield _band("equal_local_levels")
    delta = jnp.float32(DELTA)
    for name, method in COUNTING.items():
        beta = None if name == BINOMIAL.name else method.default_beta(delta, N)
        each = allowed_counts(method, jnp.asarray([0.8], jnp.float32), delta, beta, N)
        yield _levels(f"safety level, {name}", (0.8,), *each[:2])


def _curve_cells() -> Iterator[Cell]:
    for curve in curves():
        for case, beta in (("easy", 0.0), ("worst case", curve.beta)):
            share = np.floor(beta * FINE) / FINE

            def failed(key: jax.Array, size: int, curve: Curve = curve, share: float = share) -> np.ndarray:
                return curve.wrong(_lower(key, np.float32(share), size=size))

            yield Cell(curve.kind, case, DELTA, failed, REPETITIONS, CHUNK)


@functools.partial(jax.jit, static_argnames="size")
def _lower(key: jax.Array, beta: jax.Array, *, size: int) -> jax.Array:
    """Exactly J, or above all performances with probability beta."""
    first, second = jax.random.split(key)
    performance = jax.random.bits(first, (size, N), jnp.uint16).astype(jnp.float32) / FINE
    return jnp.where(happens(second, (size, N), beta), 2.0, performance)


def cells() -> Iterator[Cell]:
    yield from _counted_cells()
    yield from _curve_cells()
