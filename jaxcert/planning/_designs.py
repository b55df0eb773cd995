"""The wanted certificate, and the kinds of designs with their simulation: fixed numbers of rollouts, or sequential."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_number
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound, evaluate
from jaxcert.certificates._attained import ATTAINED
from jaxcert.numerics import binomial_cdf
from jaxcert.numerics._rounding import cast
from jaxcert.planning._least_tasks import on_rows
from jaxcert.planning._pilot import turned
from jaxcert.returns._prepared import Support, split_support
from jaxcert.returns._required import Side
from jaxcert.returns._sample import Sample
from jaxcert.sequential import certify_sequential


class Wish(NamedTuple):
    """The wanted certificate: a safety at a threshold."""

    support: tuple[float, float]
    delta: float
    threshold: float
    safety: float
    sides: tuple[Side, ...] = ()  # of several requirements, which a task has to meet all

    def passes(self, lower: Any) -> np.ndarray:
        """Whether tasks with these lower bounds pass the threshold, rounded as in the certificate."""
        return np.asarray(lower >= cast(self.threshold, lower.dtype, "up"))


def check_wish(support: Support | None, delta: float, threshold: float | None, safety: float | None) -> Wish:
    """The checked wish; ValueError for an impossible one."""
    if threshold is None or safety is None:
        raise ValueError(f"{'threshold' if threshold is None else 'safety'} is not given; a plan needs both")
    for name, value in (("delta", delta), ("safety", safety)):
        check_number(name, value, lambda number: 0 < number < 1, "a probability in (0, 1)")
    low, high = map(float, split_support(support))
    expected = f"one in the support, above {low:g} and at most {high:g}"
    check_number("threshold", threshold, lambda number: low < number <= high, expected)
    return Wish((low, high), delta, threshold, safety)


class PerTask(NamedTuple):
    """Results of simulated tasks [N] at levels [G]."""

    passes: np.ndarray  # whether each is shown to reach the threshold, bool[G, N]
    used: np.ndarray  # the rollouts that each takes, [G, N]
    passing: np.ndarray | None = None  # the probability that a task passes, if known exactly, [G]


@dataclasses.dataclass(frozen=True)
class Kind:
    """How designs of one name are simulated."""

    name: str
    arguments: Mapping[str, str]  # what ``certify`` takes beside beta, or ``certify_sequential``
    # (returns [N, M], how many of the M count, betas [G], wish) -> what becomes of tasks. They are independent, so that
    # the chance of a certificate follows from the chances of one task.
    per_task: Callable[[Any, int, np.ndarray, Wish], PerTask]
    suits: Callable[[bool], bool]  # whether returns are 0 or 1 -> whether designs of this kind are worth a try
    # (``PerTask``, m) -> the same for at most m rollouts, if tasks stop by themselves; else None.
    stopped: Callable[[PerTask, int], PerTask] | None = None
    # (m, threshold) -> the betas to try with so many rollouts; None for those of the goal.
    betas: Callable[[int, float], Any] | None = None
    # (m, betas [G], threshold) -> how many successes a task needs to pass, [G]; None where more counts.
    enough: Callable[[int, np.ndarray, float], np.ndarray] | None = None

    @property
    def counts_successes(self) -> bool:
        """Whether its method counts successes, so that returns are 0 or 1."""
        return self.enough is not None


def _bounded_per_task(bound: Bound, returns: Any, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """Tasks whose lower bounds from the first m rollouts pass.

    They are found level by level, for memory, and so that one program serves any number of levels.
    """
    dtype = returns.dtype
    low, high = cast(wish.support[0], dtype, "down"), cast(wish.support[1], dtype, "up")
    given = jnp.asarray(returns), np.int32(m), low, high
    passes = np.stack([wish.passes(bounds_of_first(bound, *given, beta)) for beta in cast(betas, dtype, "nearest")])
    return PerTask(passes, np.full(passes.shape, m, np.int32))


@functools.partial(jax.jit, static_argnums=0)
def bounds_of_first(bound: Bound, returns, m, low, high, beta) -> jax.Array:
    """Lower bounds [N] from the first m rollouts of tasks, [N, M]."""
    mask = jnp.broadcast_to(jnp.arange(returns.shape[-1], dtype=m.dtype) < m, returns.shape)
    return evaluate(bound, Sample(returns, low, high, mask, np.int32(returns.shape[-2]), m), beta)


_ROUNDING = 2e-6  # more than that of a level
# The levels of a design are near these.
_NEAR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _successes_per_task(returns: Any, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """Tasks with enough successes in the first m rollouts."""
    passes = np.sum(returns[:, :m], axis=1) >= _enough(m, betas, wish.threshold)[:, None]
    return PerTask(passes, np.full(passes.shape, m, np.int32))


def _enough(m: int, betas: np.ndarray, threshold: float) -> np.ndarray:
    """The number of successes that counts at each level; m + 1 if none does.

    A level that is attained up to rounding, as 0.5 at the threshold 0.5, may count or not: here it does not.
    """
    return np.sum(_attained(m, threshold)[:, None] + _ROUNDING > betas, axis=0)


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
    threshold = cast(wish.threshold, returns.dtype, "up")
    returns, levels = jnp.asarray(returns[:, :m]), cast(betas, returns.dtype, "nearest")
    lower, used = zip(*(_run(returns, threshold, beta, wish[:2]) for beta in levels), strict=True)
    return PerTask(wish.passes(np.stack(lower)), np.stack(used))


def _stopped(course: PerTask, m: int) -> PerTask:
    """Decisions after the first m rollouts; later rollouts do not affect them."""
    return PerTask(course.passes & (course.used <= m), np.minimum(course.used, m))


@functools.partial(jax.jit, static_argnums=3)
def _run(returns, threshold, beta, fixed) -> tuple[jax.Array, jax.Array]:
    """Lower bounds, and after how many rollouts tasks pass or are given up, [N]."""
    support, delta = fixed
    found = certify_sequential(returns, threshold, support=support, delta=delta, beta=beta, validate=False)
    return found.lower_bounds, found.num_rollouts_used[..., 0]


_BETTING = Kind(
    BETTING.name,
    {"bound": BETTING.name},
    functools.partial(_bounded_per_task, BETTING),
    lambda binary: not binary,
)
_SEQUENTIAL = Kind("sequential", {}, _stopped_per_task, lambda binary: True, _stopped)


def all_met(returns: np.ndarray, m: int, betas: np.ndarray, wish: Wish) -> PerTask:
    """Tasks [N] that are shown to meet all requirements, from their returns [N, M, sides]."""
    met = np.ones((len(betas), len(returns)), bool)
    for i, side in enumerate(wish.sides):
        low, high = map(float, side.support or (0, 1))
        own = Wish((low, high), wish.delta, float(turned(side, side.threshold)), wish.safety)
        met &= (_SUCCESSES if side.support is None else _BETTING).per_task(returns[..., i], m, betas, own).passes
    return PerTask(met, np.full(met.shape, m, np.int32))


# Adding a kind of designs is one line here; successes need no bound, as attained levels certify as much, or more.
DESIGNS = {
    kind.name: kind
    for kind in (
        _BETTING,
        _SUCCESSES,
        _SEQUENTIAL,
    )
}
