r"""How many tasks a safety of successes needs, by the number of trials and the law of their probabilities.

A task misses c with probability q_c = sum_p w_p P[Bin(m, p) < c]. So in a share P of all cases, at most k_c of n tasks
miss it, the quantile of Bin(n, q_c) at P, and then

.. math:: \max_c 1 - \frac{U(k_c; n, \delta_c)}{1 - \tau_B(c)}

is certified at least. The best c of each case certifies a little more.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates._levels import delta_of_sets, sets_of, usual_enough
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._least_tasks import MOST_TASKS, least_true, on_rows, safety_of
from jaxcert.planning._pilot import Law

# Numbers of trials to look for the fewest among; from 20 on in steps of about a sixth.
TRIALS = tuple(sorted({*range(1, 21), *(round(20 * 1.17**i) for i in range(1, 26))}))


def safety_in(power: float, misses: Any, n: Any, beta: Any, delta: Any) -> np.ndarray:
    """The safety that is certified in that share of cases, if each of n tasks is a violation with that probability."""
    misses, n, beta, delta = np.broadcast_arrays(misses, n, beta, delta)

    def often(k: np.ndarray) -> np.ndarray:
        return (k >= n) | (on_rows(binomial_cdf, np.minimum(k, n), n, misses) >= power)

    k = least_true(often, np.full(n.shape, -1), int(n.max()), low_counts=True)
    return safety_of(BINOMIAL, k, n, beta, delta)


class Levels(NamedTuple):
    """The numbers of successes that count at one threshold, their levels and the delta of each, [..., levels]."""

    enough: np.ndarray
    levels: np.ndarray
    deltas: np.ndarray


def levels_of(num_rollouts: int, threshold: float, delta: Any, dtype: Any, beta: jax.Array | None = None) -> Levels:
    """As ``certify`` chooses them for m rollouts."""
    given = None if beta is None else np.asarray(beta)
    enough, levels = usual_enough(np.asarray(num_rollouts, dtype), np.asarray([threshold], dtype), given)
    each = delta_of_sets(num_rollouts, np.asarray(delta, dtype), given)
    # No task has more successes than trials.
    levels = np.where(enough <= num_rollouts, levels, 1)
    return Levels(enough[0], levels[0], each[np.asarray(sets_of(enough))[0]])


class Prospects(NamedTuple):
    """Certificates with several numbers of trials [c]: their levels, and the probability that a task misses."""

    levels: Levels  # of each number of trials, [c, levels]
    misses: np.ndarray  # the probability that a task has too few successes, [c, levels]
    power: float  # the share of cases that counts

    def reached(self, num_tasks: Any) -> np.ndarray:
        """The safety that n tasks certify in that share of cases, n of shape [..., c]."""
        n = np.broadcast_to(np.asarray(num_tasks)[..., None], (*np.shape(num_tasks)[:-1], *self.misses.shape))
        return np.max(safety_in(self.power, self.misses, n, self.levels.levels, self.levels.deltas), axis=-1)

    def limit(self) -> np.ndarray:
        """The limit for more and more tasks, [c]."""
        certain = self.levels.levels >= 1
        return np.max(np.where(certain, 0, 1 - self.misses / np.where(certain, 1, 1 - self.levels.levels)), axis=-1)

    def tasks(self, safety: Any) -> np.ndarray:
        """The fewest tasks that reach a safety, where one fewer does not, [..., c]; 0 where more do not help."""
        wanted = np.broadcast_to(np.maximum(safety, 1e-6), np.broadcast_shapes(np.shape(safety), self.limit().shape))

        def holds(n: np.ndarray) -> np.ndarray:
            return self.reached(n) >= wanted

        return np.where(self.limit() > wanted, least_true(holds, np.zeros(wanted.shape), MOST_TASKS, tries=1), 0)


def prospects(
    law: Law | None,
    num_rollouts: Any,
    threshold: float,
    *,
    delta: Any,
    power: float,
    dtype: Any = None,
    beta: jax.Array | None = None,
) -> Prospects:
    """Prospects of certificates with m trials [c], at their own levels or at one; without a law, tasks never fail."""
    dtype = np.dtype(dtype or jnp.result_type(float))
    rows = [levels_of(m, threshold, delta, dtype, beta) for m in num_rollouts]
    levels = Levels(*(np.stack(arrays) for arrays in zip(*rows, strict=True)))
    if law is None:
        return Prospects(levels, np.zeros(levels.enough.shape), power)
    trials = np.asarray(num_rollouts)[:, None, None]
    below = on_rows(binomial_cdf, levels.enough[..., None] - 1, trials, law.chances)
    return Prospects(levels, np.sum(below * law.weights, axis=-1), power)
