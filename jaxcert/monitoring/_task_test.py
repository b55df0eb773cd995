"""The score of one task: nonnegative, with a mean of at most 1 while the claim holds."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_number, is_concrete
from jaxcert.bounds import betting
from jaxcert.numerics import binomial_cdf
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import cast, complement_down, complement_up, convert, in_unit, unit_roundoff
from jaxcert.returns._checks import check_returns, possible
from jaxcert.returns._prepared import Needs, Support, probability, support_for

_NEEDS = Needs("a monitor", needs_width=True)
# How a task is judged: by its successes, by an upper bound on its mean return, or by its one return itself.
SUCCESSES, UPPER_BOUND, RETURN = "successes", "upper bound", "return"
# The level of an upper bound is a share of the risk. With few rollouts the share is larger, since a bound at a
# small level is hardly ever below the threshold. Found by simulation.
_SHARE, _SHARE_OF_FEW, _FEW = 0.2, 0.5, 7


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class TaskTest:
    """How tasks are judged; arrays of one float type, all scalars.

    Attributes:
        threshold: B, rounded down.
        epsilon: the risk that is claimed, rounded up.
        low, high: the ends of the support, rounded outward.
        beta: the probability with which a task with J >= B is flagged, at most; NaN where none is flagged.
        most_successes: a task with at most this many successes is flagged; -1 if successes do not count.
        largest: the probability of a flag under the claim, at most; for returns the mean of b - X, at most.
        valid: whether the claim says anything: a < B <= b and 0 < epsilon < 1.
        kind: "successes", "upper bound" or "return" (static).
        num_rollouts: m, of each task (static).
    """

    threshold: jax.Array
    epsilon: jax.Array
    low: jax.Array
    high: jax.Array
    beta: jax.Array
    most_successes: jax.Array
    largest: jax.Array
    valid: jax.Array
    kind: str = dataclasses.field(metadata={"static": True})
    num_rollouts: int = dataclasses.field(metadata={"static": True})


def prepare_test(
    threshold: Any,
    epsilon: Any,
    support: Support | None,
    *,
    successes: bool,
    num_rollouts: int,
    dtype: np.dtype,
) -> TaskTest:
    """The test of a task; ValueError for a concrete claim that no task can contradict."""
    check_count("num_rollouts", num_rollouts)
    low, high = _ends(support, successes=successes)
    kind = SUCCESSES if successes else RETURN if num_rollouts == 1 else UPPER_BOUND
    if is_concrete(threshold, low, high):
        ends = float(low), float(high)
        expected = f"a number in ({ends[0]:g}, {ends[1]:g}], since no task contradicts another one"
        check_number("threshold", threshold, lambda b: ends[0] < b <= ends[1], expected)
    epsilon = probability("epsilon", epsilon, dtype, "up", validate=True, scalar=True)
    b, a, top = cast(threshold, dtype, "down"), cast(low, dtype, "down"), cast(high, dtype, "up")
    valid = (a < b) & (b <= top) & jnp.isfinite(a) & jnp.isfinite(top) & in_unit(epsilon)
    beta, c = jnp.full((), jnp.nan, dtype), jnp.int32(-1)
    if kind == SUCCESSES:
        beta, c = _attained(b, epsilon, num_rollouts)
    elif kind == UPPER_BOUND:
        # Any level that is fixed beforehand is sound, so this need not be rounded.
        is_few = num_rollouts * (b - a) / (top - a) < _FEW
        beta = epsilon * jnp.where(is_few, _SHARE_OF_FEW, _SHARE).astype(epsilon.dtype)
    largest = _mean_loss_up(b, epsilon, a, top) if kind == RETURN else _flags_up(epsilon, beta)
    return TaskTest(b, epsilon, a, top, beta, c, largest, valid, kind, num_rollouts)


def score_down(test: TaskTest, returns: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The score of a task with these returns [m], rounded down, and whether all of them are possible."""
    fine = jnp.all(possible(returns, test.low, test.high, test.kind == SUCCESSES))
    if test.kind == SUCCESSES:
        flagged = jnp.sum(returns == 1, dtype=jnp.int32) <= test.most_successes
    elif test.kind == UPPER_BOUND:
        inside = jnp.where(fine, returns, test.high)
        lower = betting(-inside, test.beta, support=(-test.high, -test.low), validate=False)
        flagged = -lower < test.threshold
    else:
        # The difference is off by u, the quotient by 2 u.
        loss = jnp.where(fine, test.high - returns[0], 0) * (1 - 4 * unit_roundoff(returns.dtype))
        return quotient(jnp.maximum(loss, 0), test.largest), fine
    most = quotient(jnp.ones_like(test.largest), test.largest) * (1 - 4 * unit_roundoff(returns.dtype))
    return jnp.where(fine & flagged, most, 0), fine


def as_returns(test: TaskTest, returns: Any) -> jax.Array:
    """Returns in the type of the test: rounded up, since lower ones contradict the claim more."""
    return convert(returns, test.threshold.dtype, "up")


def check_possible(test: TaskTest, returns: np.ndarray, tasks: Sequence[str] = ("",)) -> None:
    """Raise ValueError for the first impossible return [tasks, m], which names its task by the label."""

    def place_of(index: np.ndarray) -> str:
        return f"returns[{index[1]}]" + f" of task {tasks[index[0]]}" * bool(tasks[index[0]])

    check_returns(returns, test.low, test.high, None, binary=test.kind == SUCCESSES, place_of=place_of)


# --- the largest probability of a flag, or mean of a loss, under the claim -----------------------------------------


def _flags_up(epsilon: jax.Array, beta: jax.Array) -> jax.Array:
    """At least epsilon + (1 - epsilon) beta."""
    passed = complement_down(epsilon) * complement_down(beta)
    return complement_up(passed * (1 - 2 * unit_roundoff(passed.dtype)))


def _mean_loss_up(b: jax.Array, epsilon: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """At least (1 - epsilon) (b - B) + epsilon (b - a), a sum of two nonnegative terms."""
    total = complement_up(epsilon) * (high - b) + epsilon * (high - low)
    return total * (1 + 6 * unit_roundoff(total.dtype))


def _attained(threshold: jax.Array, epsilon: jax.Array, num_rollouts: int) -> tuple[jax.Array, jax.Array]:
    """The number of successes up to which a task is flagged, the quickest, and the level it attains."""
    numbers = jnp.arange(num_rollouts, dtype=jnp.int32)
    levels = binomial_cdf(numbers, num_rollouts, jnp.broadcast_to(threshold, numbers.shape), side="up")
    levels = jnp.clip(levels, 0, 1)
    chosen = jnp.argmax(_growth(threshold, epsilon, numbers, num_rollouts, levels)).astype(jnp.int32)
    return levels[chosen], chosen


def _growth(b: jax.Array, epsilon: jax.Array, numbers: jax.Array, num_rollouts: int, levels: jax.Array) -> jax.Array:
    """How fast evidence grows for each number, [m], if the risk triples, or half of the remaining probability is added
    to it.

    Violating tasks are assumed to have half the claimed probability of success, other tasks the mean of it and 1. Any
    number that is fixed beforehand is sound, so this need not be rounded.
    """
    bad, good = (binomial_cdf(numbers, num_rollouts, jnp.broadcast_to(p, levels.shape)) for p in (b / 2, (1 + b) / 2))
    risk = jnp.minimum(3 * epsilon, (1 + epsilon) / 2)
    rate, q = risk * bad + (1 - risk) * good, epsilon + (1 - epsilon) * levels
    rate, q = (jnp.clip(x, 1e-6, 1 - 1e-6) for x in (rate, q))
    found = rate * log(rate / q) + (1 - rate) * log((1 - rate) / (1 - q))
    return jnp.where(rate > q, found, -q)


# --- arguments ----------------------------------------------------------------------------------------------------


def _ends(support: Support | None, *, successes: bool) -> Support:
    if successes and support is not None and (not is_concrete(support) or tuple(support) != (0, 1)):
        raise ValueError(f"support is {support}; successes have the support (0, 1), expected none")
    if not successes and support is None:
        raise ValueError("support is not given; expected (a, b), or successes=True")
    return (0.0, 1.0) if support is None else support_for(_NEEDS, support)
