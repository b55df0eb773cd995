"""The designs to plan for: fixed numbers of rollouts, by bound or numbers of successes, and sequential ones."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, evaluate
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._attained import ATTAINED
from jaxcert.numerics import binomial_cdf
from jaxcert.numerics._rounding import cast
from jaxcert.planning._design_kind import Kind, PerTask, Wish
from jaxcert.planning._least_tasks import on_rows
from jaxcert.planning._pilot import turned
from jaxcert.returns._sample import Sample
from jaxcert.sequential import certify_sequential


def _by_level(found: Callable[..., jax.Array], returns: Any, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """Lower bounds or scores of tasks from the first m rollouts.

    They are found level by level, for memory, and so that one program serves any number of levels.
    """
    dtype = returns.dtype
    low, high = cast(wish.support[0], dtype, "down"), cast(wish.support[1], dtype, "up")
    given = jnp.asarray(returns), np.int32(m), low, high
    lower = np.stack([found(*given, beta) for beta in cast(betas, dtype, "nearest")])
    return PerTask(lower, np.full(lower.shape, m, np.int32))


@functools.partial(jax.jit, static_argnums=0)
def _bounds(bound: Bound, returns, m, low, high, beta) -> jax.Array:
    """Lower bounds [N] from the first m rollouts."""
    return evaluate(bound, _first(returns, low, high, m), beta)


def _first(returns: jax.Array, low: jax.Array, high: jax.Array, m: jax.Array) -> Sample:
    """The first m rollouts."""
    mask = jnp.broadcast_to(jnp.arange(returns.shape[-1], dtype=m.dtype) < m, returns.shape)
    return Sample(returns, low, high, mask, np.int32(returns.shape[-2]), m)


def _fixed(bound: str, suits: Callable[[bool], bool]) -> Kind:
    """Designs that count the tasks whose bound of that name misses the threshold."""
    return Kind(bound, {"bound": bound}, functools.partial(_by_level, functools.partial(_bounds, BOUNDS[bound])), suits)


# The levels of a design are near these.
_NEAR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _successes_per_task(returns: Any, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """The threshold for tasks with enough successes, else the lower end; without a threshold, lower bounds."""
    if wish.threshold is None:
        return _by_level(functools.partial(_bounds, CLOPPER_PEARSON), returns, m, betas, wish)
    enough = _enough(m, betas, wish.threshold)
    passes = np.sum(returns[:, :m], axis=1) >= enough[:, None]
    lower = np.where(passes, wish.threshold, wish.support[0]).astype(returns.dtype)
    return PerTask(lower, np.full(lower.shape, m, np.int32))


def _enough(m: int, betas: np.ndarray, threshold: float) -> np.ndarray:
    """The number of successes that counts at each level; m + 1 if none does."""
    return np.sum(_attained(m, threshold)[:, None] > betas, axis=0)


def _attained_betas(m: int, threshold: float) -> np.ndarray:
    """The levels that m rollouts attain near the usual ones, in few figures; some may be equal."""
    level = _attained(m, threshold)[np.minimum(_enough(m, np.asarray(_NEAR), threshold), m)]
    # Larger by more than the rounding of either: at that beta this number of successes counts.
    return np.clip(np.ceil(level * 1e4 + 0.05) / 1e4, 1e-4, 0.9999)


def _attained(m: int, threshold: float) -> np.ndarray:
    """About the level of c = 0, 1, ..., m successes."""
    below = on_rows(binomial_cdf, np.arange(m), m, threshold).astype(np.float64)
    return np.concatenate([[1.0], 1 - below])


_SUCCESSES = Kind(
    ATTAINED.name,
    {"method": ATTAINED.name},
    _successes_per_task,
    lambda binary: binary,
    betas=_attained_betas,
    enough=_enough,
)


def _stopped_per_task(returns: Any, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """Tasks that pass within m rollouts."""
    assert wish.threshold is not None
    threshold = cast(wish.threshold, returns.dtype, "up")
    returns, levels = jnp.asarray(returns[:, :m]), cast(betas, returns.dtype, "nearest")
    lower, used = zip(*(_run(returns, threshold, beta, wish[:2]) for beta in levels), strict=True)
    return PerTask(np.stack(lower), np.stack(used))


def _stopped(course: PerTask, m: int, low: float) -> PerTask:
    """Decisions after the first m rollouts; later rollouts do not affect them."""
    return PerTask(np.where(course.used <= m, course.lower, np.float32(low)), np.minimum(course.used, m))


@functools.partial(jax.jit, static_argnums=3)
def _run(returns, threshold, beta, fixed) -> tuple[jax.Array, jax.Array]:
    """Lower bounds, and after how many rollouts tasks pass or are given up, [N]."""
    support, delta = fixed
    found = certify_sequential(returns, threshold, support=support, delta=delta, beta=beta, validate=False)
    return found.lower_bounds, found.num_rollouts_used[..., 0]


_BETTING = _fixed("betting", lambda binary: not binary)
_SEQUENTIAL = Kind("sequential", {}, _stopped_per_task, lambda binary: True, _stopped, needs_threshold=True)


def all_met(returns: np.ndarray, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """1 for tasks [N] that are shown to meet all requirements, 0 for others, from their returns [N, M, sides]."""
    met = np.ones((len(betas), len(returns)), bool)
    for i, side in enumerate(wish.sides):
        low, high = map(float, side.support or (0, 1))
        threshold = float(turned(side, side.threshold))
        own = Wish((low, high), wish.delta, threshold, None)
        lower = (_SUCCESSES if side.support is None else _BETTING).per_task(returns[..., i], m, betas, own).lower
        met &= lower >= cast(threshold, lower.dtype, "up")
    return PerTask(met.astype(np.float32), np.full(met.shape, m, np.int32))


# Adding a kind of designs is one line here. Attained levels certify as much as Clopper-Pearson bounds, or more.
DESIGNS = {
    kind.name: kind
    for kind in (
        _BETTING,
        _SUCCESSES,
        _fixed("clopper_pearson", lambda binary: False),
        _SEQUENTIAL,
    )
}


def usable(name: str, wish: Wish) -> Kind:
    """The kind of that name, if it can reach the goal."""
    kind = choose("design", name, DESIGNS)
    if kind.needs_threshold and wish.threshold is None:
        raise ValueError(f"design is {name!r}, which needs a threshold; expected one that can do without")
    return kind
