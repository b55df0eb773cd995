"""Numbers of successes that are enough, and the levels that they attain, for equal and for unequal numbers of rollouts.

The numbers to try depend only on m, B and a few usual levels.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._averages import Solve
from jaxcert.certificates._counting import Best, best_of
from jaxcert.numerics._batches import in_blocks, kept_rows
from jaxcert.numerics._coins import coins_limit
from jaxcert.numerics._root import halved
from jaxcert.numerics._rounding import complement_down, unit_roundoff
from jaxcert.numerics._tails import tail_up
from jaxcert.returns._prepared import part_of


class UsualLevels(NamedTuple):
    """A few levels that are fixed beforehand: lower bounds have them, and numbers of successes are near them."""

    levels: tuple[float, ...]
    quantiles: tuple[float, ...]  # the normal quantiles of 1 minus them
    even: bool = False  # whether all have the same share of delta

    def shares(self, num_rollouts: Any) -> list[Any]:
        """The share of delta of each: else a quarter for few rollouts, nearly all at the first one for many."""
        count = len(self.levels)
        part = 1 / count if self.even else 1 / (4 + num_rollouts * num_rollouts / 2000)
        return [1 - (count - 1) * part, *[part] * (count - 1)]


# Docs/tightness.md compares them with the best number in hindsight.
NEW_TASKS = UsualLevels((0.05, 0.2, 0.4, 0.65), (1.6448536, 0.8416212, 0.2533471, -0.3853205))
# Weights make every part of delta dearer: they have one level fewer, whose part goes to the first.
WEIGHTED_TASKS = UsualLevels((0.05, 0.3, 0.65), (1.6448536, 0.5244005, -0.3853205))
# Only a level below its share of delta leaves no task of the list that passes and may be bad. In simulated lists of 10
# to 200 tasks these certify 2.5 % of the tasks fewer, on average, than the best number of successes in hindsight; 0.05
# alone 6.8 %, two levels 2.9 %, five 2.3 %.
LISTED_TASKS = UsualLevels((0.01, 0.05, 0.2, 0.5), (2.3263479, 1.6448536, 0.8416212, 0.0), even=True)


class Enough(NamedTuple):
    """The numbers of successes c to pass, 0 for B <= 0 and m + 1 for B > 1, and their levels, of one shape.

    A level is P[Bin(m, B) >= c], rounded up; 1 for a threshold that is NaN.
    """

    successes: Any
    level: Any


@jax.jit
def near(num_rollouts: jax.Array, thresholds: jax.Array, quantiles: jax.Array) -> Enough:
    """c near levels, by the normal quantiles of 1 minus them: the Cornish-Fisher quantile of Bin(m, B), rounded.

    The choice of the integer affects only tightness, since the level of each is computed exactly.
    """
    m, thresholds, z = jnp.broadcast_arrays(num_rollouts, thresholds, quantiles)
    p = jnp.clip(thresholds, 0, 1)
    quantile = m * p + z * jnp.sqrt(m * p * (1 - p)) + (1 - 2 * p) * (z * z - 1) / 6
    return with_level(jnp.clip(jnp.rint(quantile + 0.5), 1, m), m, thresholds)


@jax.jit
def _at_most(num_rollouts: jax.Array, thresholds: jax.Array, beta: jax.Array) -> Enough:
    """The least c with a level of at most beta: a Clopper-Pearson bound at level beta passes from it on."""
    m, thresholds, beta = jnp.broadcast_arrays(num_rollouts, thresholds, beta)

    def least(p: jax.Array, m: jax.Array, beta: jax.Array) -> jax.Array:
        # The level of this number itself was seen to be at most beta, or it is m + 1.
        return halved(lambda c: tail_up(c - 1, m, p) <= beta, jnp.zeros_like(m), m + 1)[1]

    return with_level(in_blocks(least, jnp.clip(thresholds, 0, 1), m, beta), m, thresholds)


@jax.jit
def with_level(successes: jax.Array, num_rollouts: jax.Array, thresholds: jax.Array) -> Enough:
    """Given numbers of successes with their level; others where B is no probability."""
    successes, m, thresholds = jnp.broadcast_arrays(successes, num_rollouts, thresholds)
    level = in_blocks(tail_up, successes - 1, m, jnp.clip(thresholds, 0, 1))
    none, all_failed = thresholds <= 0, thresholds > 1
    enough = jnp.where(none, 0, jnp.where(all_failed, m + 1, successes))
    return Enough(enough, jnp.where(jnp.isnan(thresholds), 1.0, jnp.where(none | all_failed, 0.0, level)))


def usual_enough(num_rollouts: Any, thresholds: Any, beta: Any = None, usual: UsualLevels = NEW_TASKS) -> Enough:
    """The c that are tried at each threshold, [..., levels]: near the usual levels, or one if beta is given."""
    if beta is not None:
        return known_enough(_at_most, num_rollouts, thresholds[..., None], beta)
    quantiles = np.asarray(usual.quantiles, thresholds.dtype)
    return known_enough(near, num_rollouts, thresholds[..., None], quantiles)


def known_enough(choose: Callable[..., Enough], num_rollouts: Any, thresholds: Any, settings: Any) -> Enough:
    """``choose(m, B, settings)``; on the host by a program for all shapes, where all of it is known."""
    if not is_concrete(num_rollouts, thresholds, settings):
        return choose(num_rollouts, thresholds, settings)
    arrays = np.broadcast_arrays(np.asarray(num_rollouts, thresholds.dtype), thresholds, settings)
    found = kept_rows(choose, *(array.reshape(-1) for array in arrays))
    return Enough(*(array.reshape(arrays[0].shape) for array in found))


# --- shares of delta ----------------------------------------------------------------------------------------------


def delta_of_sets(num_rollouts: Any, delta: Any, beta: Any = None) -> Any:
    """The delta of every set of levels, by its number of bits, rounded down; of one level all of delta.

    Levels with the same c are one certificate, at the sum of their shares.
    """
    parts = [1.0] if beta is not None else NEW_TASKS.shares(float(num_rollouts))
    sums = [sum(part for g, part in enumerate(parts) if index >> g & 1) for index in range(2 ** len(parts) - 1)]
    return part_of(delta, np.asarray([*sums, 1.0], delta.dtype))  # all of them together


def sets_of(successes: Any) -> jax.Array:
    """The levels that share each level's c, [t, levels], as bits of a number."""
    same, bits = successes[:, :, None] == successes[:, None, :], 2 ** np.arange(successes.shape[-1], dtype=np.int32)
    return jnp.sum(jnp.where(same, bits[None, None], 0), axis=-1, dtype=np.int32)


def together(enough: Any, parts: Any) -> Any:
    """The share of delta of each level, rounded down; levels with the same successes in every task share theirs."""
    xp = np if isinstance(enough, np.ndarray) else jnp
    same = xp.all(enough[..., :, None] == enough[..., None, :], axis=-3)
    total = xp.sum(xp.where(same, parts[..., None, :], 0), axis=-1) * (1 - 8 * unit_roundoff(parts.dtype))
    return xp.where(xp.all(same, axis=-1), 1.0, xp.minimum(total, 1)).astype(parts.dtype)


# --- tasks with numbers of rollouts of their own ------------------------------------------------------------------

# (rollouts of each task, thresholds, both [..., n]) -> (their c [..., n, levels], shares of delta [..., levels]).
Numbers = Callable[[jax.Array, jax.Array], tuple[Enough, jax.Array]]
# Thresholds are processed in blocks of about this number of coins: 128 kB on a CPU, whose searches of a block end
# together, and elsewhere 16 MB.
_ON_CPU, _ELSEWHERE = 2**15, 2**22


def numbers_for(beta: jax.Array | None, usual: UsualLevels = NEW_TASKS) -> Numbers:
    """The c of each task at level beta; near each of the usual levels for None."""

    def choose(num_rollouts: jax.Array, thresholds: jax.Array) -> tuple[Enough, jax.Array]:
        enough = usual_enough(num_rollouts[..., None], thresholds, beta, usual)
        if beta is not None:
            return enough, jnp.ones((*num_rollouts.shape[:-1], 1), num_rollouts.dtype)
        parts = usual.shares(jnp.max(num_rollouts, axis=-1))
        return enough, jnp.stack([jnp.asarray(part, num_rollouts.dtype) for part in parts], axis=-1)

    return choose


def by_coins(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
    """The risk of new tasks like these: a violation is at least as likely as an unequal coin of each task."""
    coins = jnp.moveaxis(complement_down(jnp.broadcast_to(level, passed.shape)), -1, -2)
    return coins_limit(coins, too_few(passed).astype(level.dtype), share_of_delta)


def best_at_levels(
    count: jax.Array,
    num_rollouts: jax.Array,
    thresholds: jax.Array,
    numbers: Numbers,
    delta: jax.Array,
    solve: Solve,
    there: jax.Array,
) -> Best:
    """The best of the levels at thresholds [t], each of which counts as the largest of a task.

    From the successes of each task [..., n], -1 in an invalid one, and its rollouts, or those of all, [..., 1], fixed
    beforehand or independent of all successes. Tasks that are not ``there`` pass, at a level of 1.
    """

    def at(threshold: jax.Array) -> Best:
        (enough, level), parts = numbers(num_rollouts, jnp.broadcast_to(threshold, num_rollouts.shape))
        passed = (count[..., None] >= enough) | ~there[..., None]
        every = jnp.where(there[..., None], level, 1)
        risks = solve(passed, every, delta * together(enough, parts.astype(delta.dtype)))
        worst = jnp.max(jnp.where(there[..., None], level, 0), axis=-2)
        return best_of(too_few(passed), risks, jnp.broadcast_to(worst, risks.shape), ~passed)

    most = _ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE
    columns = in_blocks(jax.vmap(at), thresholds, block=max(1, most // (count.size * 8)))
    return jax.tree.map(lambda column: jnp.moveaxis(column, 0, -1), columns)


def too_few(passed: jax.Array) -> jax.Array:
    """Tasks with fewer successes than their c, from bool[..., n, levels] to int32[..., levels]."""
    return passed.shape[-2] - jnp.sum(passed, axis=-2, dtype=jnp.int32)
