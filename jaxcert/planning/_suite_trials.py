r"""In what share of cases a fixed list, whose performances are known here, is certified with so many trials per task.

Task i does not pass level g with some probability, independently of the others. So the number k_g of tasks that do not
pass is a sum of unequal coins, and G good tasks of n are certified if P[Bin(n - G + 1, 1 - beta_g) <= k_g] is at most
delta_g, the level's part of delta. This is so in at least

.. math:: \max_g P[k_g \le K_g], \qquad K_g = \max\{k : P[\mathrm{Bin}(n - G + 1, 1 - \beta_g) \le k] \le \delta_g\}

of all cases; that the level may be chosen after the data adds a little.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_count, refuse
from jaxcert.certificates import certify_suite
from jaxcert.certificates._levels import near, together
from jaxcert.certificates._suite_counts import quantiles_of
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._least_tasks import least_true, on_rows
from jaxcert.planning._pilot import Assumptions, PilotReturns, support_of
from jaxcert.returns._prepared import Support, split_support

_MOST_TRIALS = 1024
# Numbers of trials that are tried together, and experiments with returns that are imagined.
_BLOCK, _EXPERIMENTS = 32, 100


class Asked(NamedTuple):
    """The threshold B, delta, the levels [levels], and the most trials of a task that are tried."""

    threshold: float
    delta: float
    betas: np.ndarray
    most: int


class Prospects(NamedTuple):
    """Certificates with several numbers of trials.

    Attributes:
        levels: of each number of trials, [m, levels].
        deltas: the part of delta of each, [m, levels].
        misses: P[at most k tasks do not pass], [m, levels, n + 1].
    """

    levels: np.ndarray
    deltas: np.ndarray
    misses: np.ndarray

    def power(self, num_good: Any) -> np.ndarray:
        """In what share of cases so many good tasks are certified at the best level, [m]."""
        n = self.misses.shape[-1] - 1
        coins = n - np.broadcast_to(num_good, len(self.levels))[:, None, None] + 1
        below = on_rows(functools.partial(binomial_cdf, side="up"), np.arange(n), coins, 1 - self.levels[..., None])
        most = np.sum(below <= self.deltas[..., None], axis=-1) - 1
        chance = np.take_along_axis(self.misses, np.maximum(most, 0)[..., None], axis=-1)[..., 0]
        return np.max(np.where(most >= 0, chance, 0), axis=-1)

    def certified(self, power: float) -> np.ndarray:
        """How many good tasks are certified in that share of cases, [m]."""
        n = self.misses.shape[-1] - 1

        def too_many(num_good: np.ndarray) -> np.ndarray:
            return (num_good > n) | (self.power(np.minimum(num_good, n)) < power)

        return least_true(too_many, np.zeros(len(self.levels)), n + 1) - 1


class Successes(NamedTuple):
    """Tasks i with success probabilities p_j that have weights w_ij.

    Attributes:
        chances: p, [K].
        weights: w, [n, K].
        asked: what is to be certified.
    """

    chances: np.ndarray
    weights: np.ndarray
    asked: Asked

    @property
    def num_tasks(self) -> int:
        """n."""
        return len(self.weights)

    @property
    def bad(self) -> np.ndarray:
        """The probability that a task is no better than the threshold, [n]."""
        return self.weights @ (self.chances <= self.asked.threshold + 1e-9)

    def prospects(self, num_rollouts: np.ndarray) -> Prospects:
        """As ``certify_suite`` chooses numbers of successes; in rows of one length, which one program serves."""
        m = np.resize(num_rollouts, -(-num_rollouts.size // _BLOCK) * _BLOCK)
        betas, dtype = self.asked.betas, jnp.result_type(float)
        rows, threshold = jnp.asarray(m, dtype), jnp.asarray(self.asked.threshold, dtype)
        enough, levels = near(rows[:, None], threshold, quantiles_of(np.asarray(betas, dtype)))
        shares = together(enough[:, None], jnp.full(enough.shape, 1 / betas.size, dtype))
        levels, shares, fewer = (
            np.asarray(each, np.float64)[: num_rollouts.size] for each in (levels, shares, enough - 1)
        )
        misses = on_rows(binomial_cdf, fewer[..., None], num_rollouts[:, None, None], self.chances) @ self.weights.T
        return Prospects(levels, shares * self.asked.delta, sums(misses))

    def least(self, holds: Callable[[Prospects], np.ndarray]) -> int:
        """The least number of trials of all; 0 for none."""
        for start in range(1, self.asked.most + 1, _BLOCK):
            m = np.arange(start, min(start + _BLOCK, self.asked.most + 1))
            found = holds(self.prospects(m))
            if found.any():
                return int(m[np.argmax(found)])
        return 0


class Returns(NamedTuple):
    """Tasks of which rollouts are resampled.

    Attributes:
        returns: experiments, float[experiments, n, most].
        bad: 1 for a task whose average is no better than the threshold, [n].
        support: (a, b).
        asked: what is to be certified.
    """

    returns: np.ndarray
    bad: np.ndarray
    support: Any
    asked: Asked

    @property
    def num_tasks(self) -> int:
        """n."""
        return len(self.bad)

    def prospects(self, num_rollouts: np.ndarray) -> Prospects:
        """By how often a task does not pass in the experiments."""
        betas = self.asked.betas
        misses = np.stack([self._missed(m) for m in num_rollouts.tolist()])
        levels = np.tile(betas, (len(misses), 1))
        return Prospects(levels, np.full(levels.shape, self.asked.delta / betas.size), sums(misses))

    def _missed(self, num_rollouts: int) -> np.ndarray:
        """How often each task does not pass, [levels, n]."""
        _, delta, betas, _ = self.asked
        where = np.broadcast_to(np.arange(self.returns.shape[-1]) < num_rollouts, self.returns.shape)
        settings: dict[str, Any] = {"support": self.support, "delta": delta, "betas": betas}
        found = certify_suite(self.returns, self.asked.threshold, where=where, **settings)
        return np.mean(np.asarray(found.violations)[..., 0], axis=0)

    def least(self, holds: Callable[[Prospects], np.ndarray]) -> int:
        """A number of trials that suffices where one fewer does not; 0 where the most do not."""
        return int(least_true(lambda m: holds(self.prospects(m)), np.zeros(1), self.asked.most)[0])


def check_trials(max_rollouts: int) -> None:
    """Raise ValueError for another number of trials to try."""
    if not is_count(max_rollouts) or max_rollouts > _MOST_TRIALS:
        raise ValueError(f"max_rollouts is {max_rollouts!r}; expected a whole number from 1 to {_MOST_TRIALS:,}")


def tasks_of(pilot: Any, asked: Asked, support: Support | None, seed: int) -> Successes | Returns:
    """Assumed or estimated success probabilities; or resampled rollouts of other returns."""
    known = of_list("pilot", pilot, support)
    is_pilot = isinstance(known, PilotReturns)
    low, high = map(float, split_support(support_of(pilot, support) if is_pilot else (0.0, 1.0)))
    if not low < asked.threshold < high:
        raise ValueError(f"threshold is {asked.threshold:g}; expected one inside the support ({low:g}, {high:g})")
    if not isinstance(known, PilotReturns):
        return Successes(known, np.eye(known.size), asked)
    if known.known is not None:
        return Successes(known.known.law.chances, known.known.posterior[known.known.kinds], asked)
    drawn = known.draw(np.random.default_rng([seed, 4]), _EXPERIMENTS, asked.most)
    bad = (known.returns.mean(axis=1) <= asked.threshold).astype(float)
    return Returns(drawn, bad, support_of(pilot, support), asked)


def of_list(name: str, pilot: Any, support: Support | None) -> np.ndarray | PilotReturns:
    """The success probabilities of the tasks of a list, [n], or returns of them, checked."""
    if isinstance(pilot, Assumptions):
        raise ValueError(
            f"{name} is Assumptions about new tasks; expected success probabilities or returns of the list"
        )
    given = as_numbers(name, pilot)
    if not given.size:
        raise ValueError(
            f"{name} has shape {given.shape}; expected the success probabilities of some tasks, or returns"
        )
    if given.ndim != 1:
        return PilotReturns(pilot, support_of(pilot, support))
    refuse(name, given, (given >= 0) & (given <= 1), "a success probability in [0, 1]")
    low, high = (0.0, 1.0) if support is None else map(float, split_support(support))
    if (low, high) != (0, 1):
        raise ValueError(f"support is ({low:g}, {high:g}); expected none beside success probabilities")
    return given


def sums(misses: np.ndarray) -> np.ndarray:
    """P[at most k of the tasks miss], [..., n] to [..., n + 1]."""
    law = np.zeros((*misses.shape[:-1], misses.shape[-1] + 1))
    law[..., 0] = 1
    for chance in np.moveaxis(misses, -1, 0)[..., None]:
        law[..., 1:] = law[..., 1:] * (1 - chance) + law[..., :-1] * chance
        law[..., :1] *= 1 - chance
    return np.cumsum(law, axis=-1)
