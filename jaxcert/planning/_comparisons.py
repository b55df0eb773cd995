"""The smallest comparison of two policies that is sure to certify a margin as often as wanted.

A size that suffices in some imagined comparisons was lucky in them. So it is tried in sixteen times as many that chose
nothing: first twice the size, then smaller ones down to it, until one fails. A size passes if the Clopper-Pearson limit
of its power is at least the wanted one. The sizes and their order are fixed before the fresh comparisons are drawn, so
for a false claim the first false one of them has to pass: all that came before it hold together with that confidence.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds import betting
from jaxcert.bounds._bound import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._ranking import discordant_bound
from jaxcert.numerics._rounding import cast
from jaxcert.planning._least_tasks import least_number
from jaxcert.planning._simulation import TIMES, least_share
from jaxcert.returns._sample import numbers_as_sample

# Comparisons that are imagined at once.
_COMPARISONS = 200
# Sizes beside the one that was found, the largest first.
_LARGER = (2, 1.5, 1.3, 1.2, 1.15, 1.1, 1.07, 1.04, 1.02, 1)
_USUAL_POWER = 0.9
# Fewer columns would only compile more programs.
_LEAST_COLUMNS = 256


class Comparisons(NamedTuple):
    """Imagined comparisons of two policies, of which the certificate takes the first differences.

    Attributes:
        draw: from a generator, a number of comparisons and a size to differences [comparisons, size * unit].
        unit: how many differences a size of one has: a task has one, a trial of each task of a list one of each.
        most: the largest size.
        margin: c, to be certified.
        width: b - a, of the support of either policy.
        delta: failure probability of the certificate.
        counts_wins: whether the certificate counts the tasks on which exactly one of two policies succeeds.
        most_fresh: how many differences all fresh comparisons may have.
    """

    draw: Callable[[np.random.Generator, int, int], np.ndarray]
    unit: int
    most: int
    margin: float
    width: float
    delta: float
    counts_wins: bool = False
    most_fresh: int = 2**24

    def certified(self, differences: np.ndarray, size: int) -> np.ndarray:
        """Which comparisons, the rows, certify the margin with that size."""
        dtype = np.dtype(np.float32)
        given = jnp.asarray(differences), cast(self.width, dtype, "up"), cast(self.delta, dtype, "down")
        return np.asarray(_lower(self.counts_wins, *given, np.int32(size * self.unit))) >= self.margin

    def columns(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Differences of some comparisons, filled up to one of few numbers of columns, which one program serves."""
        drawn = self.draw(rng, _COMPARISONS, size)
        columns = max(1 << (drawn.shape[1] - 1).bit_length(), _LEAST_COLUMNS)
        return np.pad(drawn.astype(np.float32), ((0, 0), (0, columns - drawn.shape[1])))


def fewest(comparisons: Comparisons, power: float, seed: tuple[int, ...], num_claims: int = 1) -> int:
    """A size that certifies the margin in at least that share of cases; 0 where none up to the most is sure to.

    With 95 % confidence in the simulation this is so, of so many claims together.
    """
    for most in (max(comparisons.most // 8, 1), comparisons.most):
        first = comparisons.columns(np.random.default_rng(seed), most)
        often = functools.partial(_often, comparisons, first, power)
        if found := least_number(often, 0, most):
            return _sure(comparisons, found, power, seed, num_claims)
    return 0


def _often(comparisons: Comparisons, drawn: np.ndarray, power: float, size: int) -> bool:
    """Whether so many of the comparisons that were drawn certify the margin with that size."""
    return bool(np.mean(comparisons.certified(drawn, size)) >= power)


def _sure(comparisons: Comparisons, found: int, power: float, seed: tuple[int, ...], num_claims: int) -> int:
    """The last size, from twice the found one downwards, of those that pass in fresh comparisons."""
    sizes = sorted({min(int(np.ceil(factor * found)), comparisons.most) for factor in _LARGER}, reverse=True)
    rng, sure = np.random.default_rng([*seed, 1]), 0
    count = comparisons.most_fresh // (_COMPARISONS * sizes[0] * comparisons.unit)
    fresh = [comparisons.columns(rng, sizes[0]) for _ in range(min(max(count, 1), TIMES))]
    for size in sizes:
        passed = np.concatenate([comparisons.certified(part, size) for part in fresh])
        if least_share(passed, num_claims) < power:
            break
        sure = size
    return sure


@functools.partial(jax.jit, static_argnums=0)
def _lower(counts_wins: bool, differences, width, delta, count) -> jax.Array:
    """Lower bounds on the mean from the first differences of each row."""
    mask: Any = jnp.broadcast_to(jnp.arange(differences.shape[-1]) < count, differences.shape)
    if counts_wins:
        return discordant_bound(jnp.where(mask, differences, 0), delta)
    return evaluate(BOUNDS[betting.__name__], numbers_as_sample(differences, -width, width, mask), delta)


def likely_size(differences: np.ndarray, unit: int, most: int, **given: Any) -> int:
    """About the size with which new differences like these certify a margin in 9 of 10 cases; 0 for more than the most.

    ``differences``: of tasks, or of rollouts of a list; ``given``: the other fields of ``Comparisons``.
    """

    def draw(rng: np.random.Generator, num_repeats: int, size: int) -> np.ndarray:
        return rng.choice(differences, size=(num_repeats, size * unit))

    return fewest(Comparisons(draw, unit, most, **given, most_fresh=2**22), _USUAL_POWER, (0, 6))
