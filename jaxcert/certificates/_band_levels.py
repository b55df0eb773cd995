"""The kinds of bands, and the level at which each counts."""

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates._binomial import BINOMIAL, inflate
from jaxcert.certificates._crossing import Crossing
from jaxcert.certificates._method import Method, Solution
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import unit_roundoff


@dataclasses.dataclass(frozen=True)
class Band:
    """A kind of band as a static description.

    Attributes:
        method: turns k into min(1, u_k / (1 - beta)), at the band's level in place of delta; named as in
            ``certify_band(kind=...)``. It is no method of ``certify``.
        level: (n, delta, last) -> the level at which P[U_(k+1) > u_k for some k <= last] is at most delta, for the
            order statistics of n independent uniform numbers; on the host.
        parts: last -> a number such that delta / parts is such a level; for a delta that cannot be read.
        takes_smallest: whether the level is larger if only the smallest counts are certified.
    """

    method: Method
    level: Callable[[int, float, int], float]
    parts: Callable[[int], int]
    takes_smallest: bool = False

    @property
    def name(self) -> str:
        """The name of its method."""
        return self.method.name


# How close to delta the probability is where the search ends, and after how many steps it ends anyway.
_CLOSE, _MOST_STEPS = 2e-7, 30
# Up to so many tasks each count is a step of the recursion; with more, a step takes all counts within so many standard
# deviations. Beyond the last number the union bound is taken, as the search takes minutes.
_SINGLE_STEPS, _STANDARD_DEVIATIONS, _MOST_TASKS = 10_000, 0.03, 100_000


@functools.lru_cache(maxsize=4096)
def local_level(num_tasks: int, delta: float, last: int) -> float:
    """The largest level found with which P[U_(k+1) > U(k; n, level) for some k <= last] is at most delta.

    Example:
        >>> print(f"{0.01 / local_level(200, 0.01, 199):.1f} {0.01 / local_level(200, 0.01, 19):.1f}")
        33.6 6.2
    """
    # The union bound.
    found = math.nextafter(delta / (last + 1), 0.0)
    if not 1e-100 <= delta <= 0.999 or num_tasks > _MOST_TASKS:
        return found
    world, (first, end) = Crossing(num_tasks, delta), _steps(num_tasks, last)
    near, before, wanted = None, None, math.log(delta * (1 - _CLOSE / 2))
    level = delta / (1 + 5 * math.log(last + 1))
    for _ in range(_MOST_STEPS):
        near = world.boundary(first, level, near)
        failure = world.probability(end, near)
        found = max(found, level) if failure <= delta else found
        if delta * (1 - _CLOSE) <= failure <= delta:
            break
        # Nearly proportional: the secant between the logarithms.
        here = math.log(level), math.log(failure)
        slope = 1.0 if before is None else (here[1] - before[1]) / (here[0] - before[0])
        level = min(math.exp(here[0] + (wanted - here[1]) / slope), delta)
        before = here
    return found


def _steps(n: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts 0, ..., last in groups: the first and the last one of each.

    At most k numbers up to U(k) for some k of a group: then there are at most its last k of them up to its first U(k).
    """
    k = np.arange(last + 1)
    if n <= _SINGLE_STEPS:
        return k, k
    share = 1 / np.maximum(_STANDARD_DEVIATIONS * np.sqrt(k * ((n - k) / n)), 1)
    first = np.flatnonzero(np.diff(np.floor(np.cumsum(share)), prepend=0.0))
    return k[first], np.append(k[first[1:] - 1], last)


# u_k = U(k; n, level): the binomial certificate at a smaller delta.
EQUAL_LOCAL_LEVELS = Band(
    Method("equal_local_levels", BINOMIAL.solve, BINOMIAL.default_beta, zero_beta=True),
    local_level,
    parts=lambda last: last + 1,
    takes_smallest=True,
)


@jax.jit
def _solve(k: jax.Array, n: jax.Array, beta: jax.Array, level: jax.Array) -> Solution:
    """u_k = k/n + sqrt(ln(1/level) / 2n)."""
    valid = (k >= 0) & (k < n) & (level > 0) & (level < 1)
    # Massart's constant is for levels up to 1/2.
    width = jnp.sqrt(quotient(-log(jnp.where(valid, jnp.minimum(level, 0.5), 0.5)), jnp.broadcast_to(2 * n, k.shape)))
    risk = quotient(k, jnp.broadcast_to(n, k.shape)) + width
    # Two quotients, a logarithm and a root that a GPU may get wrong by 2 to 4 u, and a sum.
    risk = jnp.where(valid, jnp.minimum(risk * (1 + 12 * unit_roundoff(risk.dtype)), 1.0), 1.0)
    return Solution(inflate(risk, beta), jnp.broadcast_to(n - k, k.shape).astype(jnp.int32), jnp.ones(k.shape, bool))


DKW_BAND = Band(
    Method("dkw", _solve, BINOMIAL.default_beta, zero_beta=True),
    lambda num_tasks, delta, last: delta,
    parts=lambda last: 1,
)
