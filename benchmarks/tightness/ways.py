"""The performance certified on a wanted share of new tasks, in every way that there is."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert import certify, certify_safety_level
from jaxcert.baselines import certify_known_performances, certify_plug_in

DELTA = 0.01
SAFETIES = (0.5, 0.8, 0.9, 0.95)
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


def ways(*, binary: bool) -> list[Way]:
    """Those for returns of this kind."""
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
