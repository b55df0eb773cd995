r"""How many tasks a safety of successes needs, by the number of trials and the law of their probabilities.

A task misses c with probability q_c = sum_p w_p P[Bin(m, p) < c]. So in a share P of all cases, at most k_c of n tasks
miss it, the quantile of Bin(n, q_c) at P, and then

.. math:: \max_c 1 - \frac{U(k_c; n, \delta_c)}{1 - \tau_B(c)}

is certified at least. The best c of each case certifies a little more.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, check_open_unit
from jaxcert.certificates._levels import delta_of_sets, sets_of, usual_enough
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._least_tasks import MOST_TASKS, counts, least_true, on_rows, safety_of
from jaxcert.planning._pilot import Assumptions, Law, source_of
from jaxcert.planning._printed import Result

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
    """Certificates with several numbers of trials [c]: what they count, and how many tasks miss it.

    Attributes:
        levels: of each number of trials, [c, levels].
        misses: the probability that a task has too few successes, [c, levels].
        power: the share of cases that counts.
    """

    levels: Levels
    misses: np.ndarray
    power: float

    def reached(self, num_tasks: Any) -> np.ndarray:
        """The safety that n tasks certify in that share of cases, n of shape [..., c]."""
        n = np.broadcast_to(np.asarray(num_tasks)[..., None], (*np.shape(num_tasks)[:-1], *self.misses.shape))
        return np.max(safety_in(self.power, self.misses, n, self.levels.levels, self.levels.deltas), axis=-1)

    def limit(self) -> np.ndarray:
        """What ever more tasks approach, [c]."""
        certain = self.levels.levels >= 1
        return np.max(np.where(certain, 0, 1 - self.misses / np.where(certain, 1, 1 - self.levels.levels)), axis=-1)

    def tasks(self, safety: Any) -> np.ndarray:
        """The fewest tasks that reach a safety, where one fewer does not, [..., c]; 0 where more do not help."""
        wanted = np.broadcast_to(np.maximum(safety, 1e-6), np.broadcast_shapes(np.shape(safety), self.limit().shape))

        def holds(n: np.ndarray) -> np.ndarray:
            return self.reached(n) >= wanted

        return np.where(self.limit() > wanted, least_true(holds, np.zeros(wanted.shape), MOST_TASKS), 0)


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
    """What certificates with m trials [c] promise, at their own levels or at one; without a law, tasks never fail."""
    dtype = np.dtype(dtype or jnp.result_type(float))
    rows = [levels_of(m, threshold, delta, dtype, beta) for m in num_rollouts]
    levels = Levels(*(np.stack(arrays) for arrays in zip(*rows, strict=True)))
    if law is None:
        return Prospects(levels, np.zeros(levels.enough.shape), power)
    trials = np.asarray(num_rollouts)[:, None, None]
    below = on_rows(binomial_cdf, levels.enough[..., None] - 1, trials, law.chances)
    return Prospects(levels, np.sum(below * law.weights, axis=-1), power)


@dataclasses.dataclass(frozen=True, eq=False)
class SuccessTable(Result):
    """The fewest tasks that certify each safety with so many trials each; printing it gives a table.

    Attributes:
        safeties: s, the rows.
        threshold: B.
        delta: failure probability of the certificate.
        power: in what share of cases; None if every trial succeeds.
        num_rollouts: m, the columns.
        num_tasks: n, integers [s, m]; 0 where no number does, or only one of more than a million.
        limits: the safety that ever more tasks approach, [m].

    Example:
        >>> from jaxcert.planning import success_table
        >>> success_table(0.9, threshold=0.5, delta=0.05, num_rollouts=(1, 5)).num_tasks.tolist()
        [[59, 43]]
    """

    safeties: tuple[float, ...]
    threshold: float
    delta: float
    power: float | None
    num_rollouts: tuple[int, ...]
    num_tasks: np.ndarray
    limits: np.ndarray

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        cells = [[f"{n:,}" if n else "none" for n in column] for column in self.num_tasks.T.tolist()]
        names = [f"{m} trial{'s' * (m > 1)}" for m in self.num_rollouts]
        return {"safety": [f"{s:.12g}" for s in self.safeties], **dict(zip(names, cells, strict=True))}

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        if self.power is None:
            return ["if every trial succeeds; those that fail need more tasks"]
        limits = ", ".join(f"{limit:.2f} with {m}" for m, limit in zip(self.num_rollouts, self.limits, strict=True))
        said = [f"in {self.power:.4g} of cases; ever more tasks approach a safety of {limits}"]
        return [*said, "none: not with any number of tasks"] if not np.all(self.num_tasks) else said


def success_table(
    safeties: chex.Numeric | Sequence[float],
    *,
    threshold: float,
    delta: float,
    pilot: chex.Array | Assumptions | None = None,
    power: float = 0.9,
    num_rollouts: Sequence[int] = (1, 2, 4, 5, 10, 20, 50),
) -> SuccessTable:
    """How many tasks a safety of successes needs with so many trials each, as ``certify`` counts an array of bool.

    Args:
        safeties: s, wanted safeties in (0, 1).
        threshold: B, the wanted probability of success, in (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        pilot: successes [n0, m0] of some tasks, or ``Assumptions`` with a ``rollout_spread`` of None; without it,
            every trial succeeds, so that no smaller number of tasks is ever enough.
        power: with a pilot, the probability with which the safety is to be certified.
        num_rollouts: m, the trials of each task.

    Returns:
        A ``SuccessTable``. With a pilot, the success probabilities of tasks have the law that its counts suggest; the
        numbers are for one number of successes that counts, the best of the few that ``certify`` tries.

    Raises:
        ValueError: for values out of range, or a pilot of other returns than 0 and 1.

    Example:
        >>> from jaxcert.planning import Assumptions, success_table
        >>> print(success_table([0.8, 0.9], threshold=0.5, delta=0.05, num_rollouts=(1, 4, 20)))
        safety  1 trial  4 trials  20 trials
           0.8       29        22         21
           0.9       59        45         43
        if every trial succeeds; those that fail need more tasks
        >>> skilled = Assumptions(mean=0.9, task_spread=0.1, rollout_spread=None)
        >>> print(success_table([0.8, 0.9], threshold=0.5, delta=0.05, num_rollouts=(1, 4, 20), pilot=skilled))
        safety  1 trial  4 trials  20 trials
           0.8     none       246         63
           0.9     none     1,350        215
        in 0.9 of cases; ever more tasks approach a safety of 0.80 with 1, 0.95 with 4, 0.98 with 20
        none: not with any number of tasks
    """
    rows = np.atleast_1d(as_numbers("safeties", safeties))
    for name, value in (("safeties", rows), ("threshold", threshold), ("delta", delta), ("power", power)):
        check_open_unit(name, value)
    law = None if pilot is None else source_of(pilot, (0, 1)).law
    if pilot is not None and law is None:
        raise ValueError("pilot has other returns than successes and failures; expected 0 and 1, or no rollout_spread")
    trials = tuple(np.atleast_1d(counts("num_rollouts", num_rollouts, 1)).tolist())
    found = prospects(law, trials, threshold, delta=delta, power=power)
    share = None if law is None else power
    tasks = found.tasks(rows[:, None])
    return SuccessTable(tuple(rows.tolist()), float(threshold), float(delta), share, trials, tasks, found.limit())
