"""When a task is decided: by its wealth, or for successes by a table."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import cast, in_unit, unit_roundoff
from jaxcert.returns._sample import placed

# The table has this number squared of entries.
MOST_ROLLOUTS = 2000

# The wealth and the probabilities are products of at most 2000 numbers in double precision: off by less.
_MARGIN = 1e-9
# Steps of the bisection: they leave a thousandth of the goal.
_STEPS = 12


def calibrated_goals(thresholds: Any, beta: Any, bets: np.ndarray, give_up: float, max_rollouts: int) -> np.ndarray:
    """The goal at each threshold, float64[t]: at most 1/beta, and tasks with J < B pass with probability <= beta.

    Thresholds outside (0, 1), where there is nothing to decide, and a beta outside (0, 1) have 1/beta or infinity.
    """
    level = float(beta)
    if not 0 < level < 1:
        return np.full(np.shape(thresholds), np.inf)
    settings = level, tuple(bets.tolist()), give_up, int(max_rollouts)
    ville = float(np.nextafter(1 / level, np.inf))
    return np.array([_goal(float(b), *settings) if 0 < b < 1 else ville for b in np.asarray(thresholds)])


@functools.lru_cache(maxsize=1024)
def _goal(threshold: float, beta: float, bets: tuple[float, ...], give_up: float, max_rollouts: int) -> float:
    wealth = wealth_up(threshold, bets, max_rollouts)
    low, high = 0.0, np.log(np.nextafter(1 / beta, np.inf))
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        good = probability_up(wealth, threshold, float(np.exp(middle)), give_up) <= beta
        low, high = (low, middle) if good else (middle, high)
    return float(np.exp(high)) if high < np.log(1 / beta) else float(np.nextafter(1 / beta, np.inf))


def wealth_up(threshold: float, bets: Sequence[float], max_rollouts: int) -> np.ndarray:
    """At least the mean wealth after t rollouts with s successes, [t, s]; 0 where s > t."""
    t = np.arange(1, max_rollouts + 1)[:, None]
    s = np.arange(max_rollouts + 1)[None, :]
    total = np.zeros((max_rollouts, max_rollouts + 1))
    with np.errstate(divide="ignore", over="ignore"):
        for bet in bets:
            lost = (t - s) * np.log1p(-bet) if bet < 1 else np.where(t > s, -np.inf, 0.0)
            total += np.exp(lost + s * np.log1p(bet * (1 - threshold) / threshold))
    return np.where(s <= t, total / len(bets) * (1 + _MARGIN), 0.0)


def probability_up(wealth: np.ndarray, p: float, goal: float, give_up: float) -> float:
    """At least the probability with which coins of bias p reach the goal before they are given up or left."""
    alive, reached = np.zeros(wealth.shape[1]), 0.0
    alive[0] = 1.0
    for t, row in enumerate(wealth, start=1):
        alive[1 : t + 1] = alive[1 : t + 1] * (1 - p) + alive[:t] * p
        alive[0] *= 1 - p
        now, passing = alive[: t + 1], row[: t + 1] >= goal
        reached += now[passing].sum()
        now[passing | ((row[: t + 1] <= give_up) if give_up > 0 else False)] = 0.0
    return reached * (1 + _MARGIN) + 1e-300


# All of the wealth dies at a return of a if lambda is 1, which is best for returns that vary little.
BETS = (0.25, 0.5, 1.0)
# The best bet on coins is (p - B)/(1 - B), anywhere in (0, 1).
_BETS_ON_COINS = (0.03, 0.08, 0.2, 0.45, 0.9)
NO_LIMIT = np.iinfo(np.int32).max

# A task that is left has lost half of its wealth; on coins, whose wealth falls and recovers more often, nine tenths.
_GIVE_UP, _GIVE_UP_COINS = 0.5, 0.1

Bets = Sequence[float]


def usual_rule(binary: bool) -> tuple[tuple[float, ...], float]:
    """The bets, and the wealth at which a task is left, unless others are given."""
    return (_BETS_ON_COINS, _GIVE_UP_COINS) if binary else (BETS, _GIVE_UP)


class Settings(NamedTuple):
    """The last fields of a ``SequentialState``."""

    goal: jax.Array
    bets: jax.Array
    give_up: jax.Array
    max_rollouts_per_task: jax.Array
    is_binary: jax.Array


def check_give_up(name: str, value: Any) -> None:
    """Raise ValueError unless tasks can be given up at this wealth."""
    if not (isinstance(value, int | float | np.floating | np.integer) and 0 <= value < 1):
        raise ValueError(f"{name} is {value!r}; expected a number in [0, 1)")


def prepare_rule(
    thresholds: jax.Array,
    beta: jax.Array,
    support: tuple[Any, Any],
    *,
    bets: Bets | None,
    give_up: Any,
    max_rollouts_per_task: int | None,
    binary: bool,
) -> Settings:
    """Check the settings of a rule, and compute the wealth at which tasks pass."""
    usual_bets, usual_give_up = usual_rule(binary)
    give_up = usual_give_up if give_up is None else give_up
    check_give_up("give_up", give_up)
    if max_rollouts_per_task is not None:
        check_count("max_rollouts_per_task", max_rollouts_per_task)
    bets = usual_bets if bets is None else _checked(bets)
    numbers = np.array(bets, thresholds.dtype)
    most = min(max_rollouts_per_task or NO_LIMIT, NO_LIMIT)
    goal = _by_ville(*placed((thresholds, beta)))
    # The number that the device compares with, which reads a subnormal one as 0: the table must not leave more tasks.
    left = np.asarray(give_up if give_up >= np.finfo(thresholds.dtype).tiny else 0, thresholds.dtype)
    if binary:
        if not is_concrete(thresholds, beta, support):
            raise ValueError("binary returns have a table that is computed on the host; expected arguments not traced")
        if (float(support[0]), float(support[1])) != (0.0, 1.0):
            raise ValueError(f"support is ({float(support[0]):g}, {float(support[1]):g}); binary returns have (0, 1)")
        if max_rollouts_per_task is None or max_rollouts_per_task > MOST_ROLLOUTS:
            given = f"max_rollouts_per_task is {max_rollouts_per_task}"
            raise ValueError(f"{given}; binary needs a number of at most {MOST_ROLLOUTS}")
        goal = cast(calibrated_goals(thresholds, beta, numbers, float(left), most), thresholds.dtype, "up")
    given = left, np.asarray(most, np.int32), np.asarray(bool(binary))
    return Settings(goal, *jax.device_put((numbers, *given)))


def _checked(bets: Any) -> tuple:
    if isinstance(bets, str | bytes) or not np.iterable(bets) or not (given := tuple(bets)):
        raise ValueError(f"bets are {bets!r}; expected a list of numbers in (0, 1]")
    for bet in given:
        if not (isinstance(bet, int | float | np.floating) and 0 < bet <= 1):
            raise ValueError(f"bets hold {bet!r}; expected numbers in (0, 1]")
    return given


def takes_table(max_rollouts_per_task: int | None, levels: Any) -> bool:
    """Whether the rule for binary returns can be computed, of any number of rollouts that is not given."""
    return (max_rollouts_per_task is None or max_rollouts_per_task <= MOST_ROLLOUTS) and is_concrete(levels)


@jax.jit
def _by_ville(thresholds: jax.Array, beta: jax.Array) -> jax.Array:
    """At least 1/beta for each threshold; infinity, which no wealth reaches, for a beta outside (0, 1)."""
    valid = in_unit(beta)
    inverse = quotient(jnp.ones_like(beta), jnp.where(valid, beta, 0.5))
    goal = jnp.where(valid, inverse * (1 + 4 * unit_roundoff(beta.dtype)), jnp.inf)
    return jnp.broadcast_to(goal, thresholds.shape)
