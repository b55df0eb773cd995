r"""Successes: how many tasks a safety needs, by the number of trials and the law of their probabilities; and advice.

A task misses c with probability q_c = sum_p w_p P[Bin(m, p) < c]. So in a share P of all cases, at most k_c of n tasks
miss it, the quantile of Bin(n, q_c) at P, and then

.. math:: \max_c 1 - \frac{U(k_c; n, \delta_c)}{1 - \tau_B(c)}

is certified at least. The best c of each case certifies a little more.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxcert.certificates import Certificate, floor_figures, floor_to
from jaxcert.certificates._levels import NEW_TASKS, delta_of_sets, sets_of, usual_enough
from jaxcert.certificates._method import BINOMIAL
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._advice_on_bounds import Advice, of_best_returns, wish_of
from jaxcert.planning._least_tasks import MOST_TASKS, least_true, most_of_successes, on_rows, safety_of
from jaxcert.planning._pilot import CHANCES, estimated
from jaxcert.tables._returns import how_many

# Numbers of trials to look for the fewest among; from 20 on in steps of about a sixth.
TRIALS = tuple(sorted({*range(1, 21), *(round(20 * 1.17**i) for i in range(1, 26))}))


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
    """Certificates like this one with several numbers of trials [c], where each task is drawn from a law."""

    levels: Levels  # of each number of trials, [c, levels]
    misses: np.ndarray  # the probability that a task has too few successes, [c, levels]

    @classmethod
    def of(cls, certificate: Certificate, law: np.ndarray, trials: Sequence[int], threshold: float) -> "Prospects":
        """At their own levels, or at the one that was given."""
        settings = certificate.delta, certificate.safety.dtype, _given(certificate)
        rows = [levels_of(m, threshold, *settings) for m in trials]
        levels = Levels(*(np.stack(arrays) for arrays in zip(*rows, strict=True)))
        below = on_rows(binomial_cdf, levels.enough[..., None] - 1, np.asarray(trials)[:, None, None], CHANCES)
        return cls(levels, np.sum(below * law, axis=-1))

    def reached(self, num_tasks: np.ndarray) -> np.ndarray:
        """The safety that n tasks, [..., c], certify in nine of ten cases."""
        _, levels, deltas = self.levels
        n, misses, levels, deltas = np.broadcast_arrays(num_tasks[..., None], self.misses, levels, deltas)

        def often(above: np.ndarray) -> np.ndarray:  # k + 1
            return (above > n) | (on_rows(binomial_cdf, np.minimum(above - 1, n), n, misses) >= _OFTEN)

        k = least_true(often, np.zeros(n.shape), int(n.max()) + 1) - 1
        return np.max(safety_of(BINOMIAL, k, n, levels, deltas), axis=-1)

    def limit(self) -> np.ndarray:
        """The limit for more and more tasks, [c]."""
        certain = self.levels.levels >= 1
        return np.max(np.where(certain, 0, 1 - self.misses / np.where(certain, 1, 1 - self.levels.levels)), axis=-1)

    def tasks(self, wanted: float) -> np.ndarray:
        """The fewest tasks that reach a safety above 0, where one fewer does not, [c]; 0 where more do not help."""
        limit = self.limit()
        fewest = least_true(lambda n: self.reached(n) >= wanted, np.zeros(limit.shape), MOST_TASKS, tries=1)
        return np.where(limit > wanted, fewest, 0)


# The share of cases in which the proposed number of tasks is enough.
_OFTEN = 0.9
# Levels differ only by rounding if the number of rollouts is right.
_SAME = 1e-3
_WHATEVER = "whatever the returns are"


def advice_on_successes(
    certificate: Certificate | int, num_rollouts: int, threshold: float, wanted: float, delta: Any = None
) -> Advice | None:
    """Say if there are too few tasks with this number of rollouts, and what more tasks or rollouts would certify.

    ``certificate``: a certificate, or beforehand a number of tasks with its delta.
    """
    if threshold >= 1:
        shown = floor_figures(threshold)
        text = f"no number of successes certifies a probability of success of {shown}: expected a threshold below 1"
        return Advice(threshold, wanted, 0.0, text=text)
    sizes = f" with {how_many(num_rollouts, 'rollout')} each"
    if isinstance(certificate, int):
        _, levels, deltas = levels_of(num_rollouts, threshold, delta, np.dtype(np.float32))
        found = of_best_returns(most_of_successes(levels, deltas), certificate, threshold, wanted, _WHATEVER, sizes)
        return found if found.text else None
    n, dtype = certificate.num_tasks, certificate.safety.dtype
    _, levels, deltas = levels_of(num_rollouts, threshold, certificate.delta, dtype, _given(certificate))
    found = of_best_returns(most_of_successes(levels, deltas), n, threshold, wanted, _WHATEVER, sizes)
    law = _law_of(certificate, num_rollouts)
    if law is None or threshold <= 0:
        return found if found.text else None
    return _with_prospects(found, certificate, law, num_rollouts)


def _given(certificate: Certificate) -> Any:
    """The level that the user gave, if any."""
    return None if certificate.beta.ndim else certificate.beta


def _law_of(certificate: Certificate, num_rollouts: int) -> np.ndarray | None:
    """The law, from Clopper-Pearson bounds L, P[Bin(m, L) >= s] = beta; None if some tasks have fewer rollouts."""
    lower, place = np.unique(np.asarray(certificate.lower_bounds, np.float64), return_inverse=True)
    given = _given(certificate)
    level, below = NEW_TASKS.levels[0] if given is None else float(given), np.arange(num_rollouts)
    misses = np.abs(1 - on_rows(binomial_cdf, below, num_rollouts, np.clip(lower, 0, 1)[:, None]) - level)
    successes = np.where(lower > 0, 1 + np.argmin(misses, axis=1), 0)
    same = (lower <= 0) | (misses.min(axis=1) < _SAME)
    return estimated(successes[place.reshape(-1)], num_rollouts).law if np.all(same) else None


def _with_prospects(found: Advice, certificate: Certificate, law: np.ndarray, m: int) -> Advice:
    """The likely certificates with more tasks, and with more trials."""
    assert found.threshold is not None
    n, wanted, trials = certificate.num_tasks, max(found.safety, 1e-6), [m, *(more for more in TRIALS if more > m)]
    each = Prospects.of(certificate, law, trials, found.threshold)
    of_many, limit = each.reached(np.full(len(trials), n)), float(each.limit()[0])
    share, tasks = float(np.sum(law[found.threshold - 1e-9 <= CHANCES])), int(each.tasks(wanted)[0])
    enough = next((more for more, safety in zip(trials, of_many, strict=True) if safety >= wanted), 0)
    start = found.text or (f"safety {wish_of(found.safety)} not reached" if found.safety else "nothing is certified")
    if share <= wanted:
        # An estimate is a sum of many weights: 1 may come as 1 - 1e-16, which is not 0.99.
        good = f"about {floor_to(share + 1e-12, 2)} of such tasks reach {floor_figures(found.threshold)}"
        said = f"No number of tasks and trials is likely to reach it: {good}. Lower the threshold or improve the policy"
    else:
        sizes = [(tasks, m)] * bool(tasks) + [(n, enough)] * bool(enough)
        if not sizes:
            # The fewest trials in all.
            good = [(int(size), more) for size, more in zip(each.tasks(wanted), trials, strict=True) if size]
            sizes = sorted(good, key=lambda pair: pair[0] * pair[1])[:1]
        said = "No number does"
        if sizes:  # such as 142 new tasks × 5 trials, or 60 × 14
            (first, second), *others = sizes
            words = [f"{first:,} new task{'s' * (first > 1)} × {second:,} trial{'s' * (second > 1)}"]
            about = ", or ".join([*words, *(f"{size:,} × {more:,}" for size, more in others)])
            said = f"For {wish_of(found.safety)} with power {_OFTEN}: about {about}, if they are like these"
        said += "" if tasks else f"; more tasks × {m} trials approach {floor_to(max(limit, 0.0), 2)}"
        said += "" if enough else f"; {how_many(n, 'task')} × more trials approach {floor_to(float(of_many.max()), 2)}"
    return dataclasses.replace(
        found,
        limit=limit,
        good_share=share,
        tasks_likely=tasks or None,
        rollouts_likely=enough or None,
        text=f"{start}. {said}",
    )
