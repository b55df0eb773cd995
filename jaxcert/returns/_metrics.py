"""Returns of rollouts: from rewards r_t [..., T] to one number per rollout [...]."""

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.numerics._summation import Sum, add_reward, lower_end, nothing, plus, product
from jaxcert.returns._steps import as_rewards, as_scalar, check_same_shape, counted_steps


def undiscounted_return(r_t: Array, done_t: Array | None = None) -> jax.Array:
    r"""Sum of the rewards up to and including the step of the first done.

    .. math:: G = \sum_{k=0}^{H} r_k, \qquad H = \min\{k : done_k\} \cup \{T-1\}

    Monotone in the prefix: only with non-negative rewards.
    Upper bounds: allowed on whole rollouts only.

    Args:
        r_t: rewards, [..., T], time last. Integers, bool and half precision become float32.
        done_t: bool, [..., T], true at the last step of an episode; later steps do not count, whatever they
            hold. None if every rollout lasts T steps.

    Returns:
        Returns, float [...]. A NaN or infinite reward at a step that counts shows in the result.

    Raises:
        ValueError: if `r_t` is complex or has no step, or `done_t` is not bool or has another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> r_t = jnp.array([[1.0, 2.0, 4.0], [1.0, 2.0, jnp.nan]])
        >>> done_t = jnp.array([[False, False, False], [False, True, False]])
        >>> print(undiscounted_return(r_t, done_t))
        [7. 3.]

    Reference:
        Sutton & Barto, Reinforcement Learning, 2nd ed. 2018, eq. (3.7).
    """
    rewards = as_rewards(r_t)
    counted, _ = counted_steps(done_t, rewards.shape)
    return lower_end(_added_up(rewards, counted))


def discounted_return(r_t: Array, done_t: Array | None = None, *, discount: Numeric) -> jax.Array:
    r"""Discounted sum of the rewards up to and including the step of the first done.

    .. math:: G = \sum_{k=0}^{H} \Big(\prod_{s<k} \gamma_s\Big) r_k,
        \qquad H = \min\{k : done_k\} \cup \{T-1\}

    Monotone in the prefix: only with non-negative rewards; if some are negative, take `truncated_return`.
    Upper bounds: allowed on whole rollouts only.

    Args:
        r_t: rewards, [..., T], time last. Integers, bool and half precision become float32.
        done_t: bool, [..., T], true at the last step of an episode; later steps do not count, whatever they
            hold. None if every rollout lasts T steps.
        discount: in [0, 1], a scalar, or one per step, [..., T]: ``discount[k]`` weights the rewards after
            step k. Rewards after a discount of 0 do not count, but they may be NaN only after `done_t`.

    Returns:
        Returns, float [...]. NaN where a discount that counts is not in [0, 1]; a NaN or infinite reward at a
        step that counts shows in the result.

    Raises:
        ValueError: if `r_t` is complex or has no step, `done_t` is not bool or has another shape, `discount`
            is neither a scalar nor of the shape of `r_t`, or it is a concrete scalar outside [0, 1].

    Example:
        >>> import jax.numpy as jnp
        >>> r_t = jnp.array([1.0, 2.0, 4.0])
        >>> print(discounted_return(r_t, discount=0.5))
        3.0
        >>> print(discounted_return(r_t, discount=jnp.array([1.0, 0.0, 1.0])))
        3.0

    Reference:
        Sutton & Barto, Reinforcement Learning, 2nd ed. 2018, eq. (3.8).
    """
    rewards = as_rewards(r_t)
    counted, _ = counted_steps(done_t, rewards.shape)
    # The factors from each step's weight to the next one's; NaN where not in [0, 1].
    if jnp.shape(discount) == ():
        factors = as_scalar("discount", discount, _in_unit, "in [0, 1]").astype(rewards.dtype)
    else:
        discount_t = jnp.asarray(discount, dtype=rewards.dtype)
        check_same_shape("discount", discount_t, counted.shape)
        # A discount counts if the next step counts.
        later = jnp.concatenate([counted[..., 1:], jnp.zeros_like(counted[..., :1])], axis=-1)
        factors = jnp.where(later, jnp.where(_in_unit(discount_t), discount_t, jnp.nan), 1)
    total, _, valid = _discounted(rewards, counted, factors)
    return jnp.where(valid, lower_end(total), jnp.nan)


def truncated_return(r_t: Array, done_t: Array | None = None, *, discount: Numeric, min_reward: Numeric) -> jax.Array:
    r"""Discounted return of a prefix, plus the worst return that can still follow.

    .. math:: G = \sum_{k=0}^{T-1} \gamma^k r_k + \frac{\gamma^T}{1-\gamma} r_{min}

    with nothing added, and no later step counted, once the episode has terminated. Every continuation of
    the trajectory has at least this discounted return, so lower bounds on its mean are lower bounds on
    the discounted performance over an unbounded horizon.

    Monotone in the prefix: always.
    Upper bounds: never allowed.

    Args:
        r_t: rewards of the prefix, [..., T], time last. Integers, bool and half precision become float32.
        done_t: bool, [..., T], true where the episode *terminates*, so that no reward can follow. A rollout
            cut off by a time limit has not terminated: marked as done, its result would be too high.
        discount: γ in [0, 1), a scalar. It and `min_reward` are rounded to the nearest number of
            JAX's default precision.
        min_reward: r_min <= 0, a scalar, in the unit of the rewards: a lower bound on every reward, declared
            in advance. Since an episode that terminates collects nothing more, it must not be
            positive.

    Returns:
        Returns, float [...]. NaN where a reward that counts is NaN or below `min_reward`, or where a
        traced `discount` or `min_reward` is not valid.

    Raises:
        ValueError: if `r_t` is complex or has no step, `done_t` is not bool or has another shape, `discount`
            is not a scalar or is concrete and not in [0, 1), or `min_reward` is not a scalar or is concrete and
            not finite or positive.

    Example:
        >>> import jax.numpy as jnp
        >>> r_t = jnp.array([[1.0, 2.0], [1.0, 2.0]])
        >>> done_t = jnp.array([[False, False], [False, True]])
        >>> print(truncated_return(r_t, done_t, discount=0.5, min_reward=-1.0))
        [1.5 2. ]

    Reference:
        Schnitzer, Jackermeier, Abate, Parker, Probabilistic Performance Guarantees for Multi-Task
        Reinforcement Learning, ICML 2026, arXiv 2602.02098: metrics monotone in the prefix.
    """
    rewards = as_rewards(r_t)
    counted, terminated = counted_steps(done_t, rewards.shape)
    gamma = as_scalar("discount", discount, lambda g: (g >= 0) & (g < 1), "in [0, 1)").astype(rewards.dtype)
    expected = "finite and not positive"
    lowest = as_scalar("min_reward", min_reward, lambda r: (r <= 0) & (r > -jnp.inf), expected, "down")
    lowest = cast(lowest, rewards.dtype, "down")
    prefix, weight, _ = _discounted(rewards, counted, gamma)
    tail = jax.tree.map(lambda part: jnp.where(terminated, 0, part), _tail(weight, gamma, lowest))
    keeps_minimum = jnp.all(~counted | (rewards >= lowest), axis=-1)  # not where a reward is NaN
    return jnp.where(keeps_minimum & ~jnp.isnan(gamma), lower_end(plus(prefix, tail)), jnp.nan)


def _in_unit(discount):
    return (discount >= 0) & (discount <= 1)


@jax.jit
def _added_up(rewards: jax.Array, counted: jax.Array) -> Sum:
    """The sum over the steps that count."""
    steps = jnp.moveaxis(jnp.where(counted, rewards, 0), -1, 0)
    return jax.lax.scan(lambda total, reward: (add_reward(total, reward), None), nothing(steps[0]), steps)[0]


@jax.jit
def _discounted(rewards: jax.Array, counted: jax.Array, factors: jax.Array) -> tuple[Sum, Sum, jax.Array]:
    """The discounted sum over the steps that count, the weight of the next step, and where all factors are valid."""
    valid = jnp.all(~jnp.isnan(factors), axis=-1) if factors.ndim else ~jnp.isnan(factors)
    factors = jnp.where(jnp.isnan(factors), 1, factors)
    steps = jnp.moveaxis(jnp.where(counted, rewards, 0), -1, 0)
    each = jnp.moveaxis(factors, -1, 0) if factors.ndim else jnp.broadcast_to(factors, steps.shape[:1])

    def step(carry: tuple[Sum, Sum], xs: tuple[jax.Array, jax.Array]) -> tuple[tuple[Sum, Sum], None]:
        (total, weight), (reward, factor) = carry, xs
        return (plus(total, product(weight, reward)), product(weight, factor)), None

    first = nothing(each[0])
    start = nothing(steps[0]), first._replace(high=jnp.ones_like(first.high))
    (total, weight), _ = jax.lax.scan(step, start, (steps, each))
    return total, weight, valid


@jax.jit
def _tail(weight: Sum, gamma: jax.Array, lowest: jax.Array) -> Sum:
    """weight * lowest / (1 - gamma); with error 0 where nothing was rounded."""
    u = unit_roundoff(gamma.dtype)
    gap = 1 - gamma
    quotient = nothing(gap)._replace(high=lowest / gap)
    back = product(quotient, gap)
    exact = (back.high == lowest) & (back.low == 0) & ((gamma >= 0.5) | (gamma / u == jnp.floor(gamma / u)))
    # The difference is off by u, the quotient by 4 u on a GPU, and one u is spare.
    error = jnp.where(exact, 0, 6 * u * jnp.abs(quotient.high))
    tail = product(weight, quotient.high)
    return tail._replace(error=tail.error + jnp.abs(weight.high) * error)
