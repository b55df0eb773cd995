"""Several trials in a row on a task that all succeed: the threshold for it, and the share of the choices of trials."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete, refuse
from jaxcert.bounds._bound import Bound
from jaxcert.certificates._certificate import DIFFERENCE_IN_A_ROW, quantity_of
from jaxcert.certificates._question import Option
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import cast, unit_roundoff
from jaxcert.returns._paired import Paired, refuse_mask
from jaxcert.returns._prepared import Needs, as_successes, is_successes
from jaxcert.returns._sample import placed, sample_of
from jaxcert.returns.summaries import Histogram


@jax.jit
def root_up(tau: jax.Array, k: jax.Array) -> jax.Array:
    """tau^(1/k), rounded up, for whole k of at least 1; infinity for a tau outside (0, 1], which certifies nothing.

    J^k >= tau if and only if J >= tau^(1/k).
    """
    tau, k = jnp.broadcast_arrays(tau, k)
    valid = (tau > 0) & (tau <= 1)
    share = quotient(log(jnp.where(valid, tau, 1)), k)
    # The logarithm and the quotient: 5 u of the exponent; the exponential and this product: 4 u.
    root = exp(share) * (1 + (8 + 8 * jnp.abs(share)) * unit_roundoff(tau.dtype))
    root = jnp.where(k == 1, tau, jnp.minimum(root, 1))
    return jnp.where(valid, root, jnp.inf)


def in_a_row(thresholds: Any, num_episodes: int, bound: Bound, returns: Any, validate: bool) -> tuple[Any, str]:
    """The J at which all episodes succeed with probability ``thresholds``, and the quantity of this J."""
    check_count("num_episodes", num_episodes)
    if num_episodes == 1:
        return thresholds, quantity_of(bound.name, returns)
    if not bound.binary or isinstance(returns, Paired):
        raise ValueError(f"num_episodes is {num_episodes}; expected successes of one policy, or num_episodes=1")
    if validate and is_concrete(thresholds):
        tau = np.asarray(thresholds)
        refuse("thresholds", tau, (tau > 0) & (tau <= 1), "a probability in (0, 1]")
    reached = root_up(*placed((thresholds, cast(num_episodes, thresholds.dtype, "up", whole=True))))
    reached = np.asarray(reached) if is_concrete(reached) else reached
    return reached, f"probability that the next {num_episodes} trials all succeed"


def share_of_choices(hits: jax.Array, total: jax.Array, k: int, *, up: bool = False) -> jax.Array:
    """At most, or at least, s (s - 1) .. (s - k + 1) / (m (m - 1) .. (m - k + 1)), m >= k; 0 for s < k, 1 for s = m."""
    u = unit_roundoff(hits.dtype) * (-1 if up else 1)

    def narrowed(i: jax.Array, share: jax.Array) -> jax.Array:
        left = jnp.maximum(hits - i.astype(hits.dtype), 0)
        # A quotient and two products.
        return share * (quotient(left, jnp.maximum(total - i.astype(hits.dtype), 1)) * (1 - 6 * u))

    share = jax.lax.fori_loop(0, k, narrowed, jnp.ones_like(hits))
    if up:  # products that are too small for the type are flushed to 0
        share = jnp.where(hits >= k, jnp.clip(share, jnp.finfo(share.dtype).tiny, 1), 0)
    return jnp.where(hits == total, 1, share)


def all_in_a_row(num_episodes: int, returns: Any, support: Any, where: Any, validate: bool) -> tuple[Any, str] | None:
    """Of each task the share of the choices of k trials that all succeed, in place of its returns, and what the mean of
    these is; None for a single trial. The shares of policy B are rounded up, all others down.
    """
    check_count("num_episodes", num_episodes)
    if num_episodes == 1:
        return None
    # A support of 0 and 1 declares them, too.
    of_coins = support is None or (is_concrete(support) and tuple(np.asarray(support, float)) == (0.0, 1.0))
    returns = as_successes(returns, None if of_coins else support, where)
    if not isinstance(returns, Paired):
        shares = _shares("returns", returns, where, num_episodes, validate)
        return shares, f"probability of {num_episodes} successes in a row"
    refuse_mask(where)
    a = _shares("returns_a", returns.returns_a, returns.where_a, num_episodes, validate)
    b = _shares("returns_b", returns.returns_b, returns.where_b, num_episodes, validate, up=True)
    return Paired(a, b), DIFFERENCE_IN_A_ROW.format(num_episodes)


def _shares(name: str, returns: Any, where: Any, k: int, validate: bool, *, up: bool = False) -> jax.Array:
    if isinstance(returns, Histogram) or not is_successes(returns):
        raise ValueError(f"num_episodes is {k}; expected {name} of successes, an array of bool, or num_episodes=1")
    try:
        trials = Needs(f"num_episodes={k}", min_rollouts=k, binary=True, padded=False)
        sample = sample_of(trials, returns, None, where, validate)
    except ValueError as error:
        raise ValueError(str(error) if name == "returns" else f"{name}: {error}") from None
    trials, where = placed((sample.values, sample.where))
    if int(sample.num_rollouts) == k and where is None:
        return jnp.all(trials == 1, axis=-1, keepdims=True)
    return _share_in_a_row(trials == 1, where, k, up)


@functools.partial(jax.jit, static_argnums=(2, 3))
def _share_in_a_row(successes: jax.Array, where: jax.Array | None, k: int, up: bool) -> jax.Array:
    """The share of the choices of k trials of each task that all succeed, rounded, [..., n, 1].

    Its mean is the probability that the next k trials all succeed. With fewer trials it is 0, or 1 if rounded ``up``.
    """
    mask = jnp.ones(successes.shape, bool) if where is None else where
    hits, count = (jnp.sum(each, axis=-1, keepdims=True, dtype=jnp.int32) for each in (successes & mask, mask))
    hits, total = (each.astype(jnp.result_type(float)) for each in (hits, jnp.maximum(count, k)))
    return jnp.where(count >= k, share_of_choices(hits, total, k, up=up), float(up))


_ON_A_TASK = "So many trials in a row on a task all succeed with the probability of the threshold"
IN_A_ROW = Option("num_episodes", int, _ON_A_TASK, flag="in-a-row", check=check_count)
MEAN_IN_A_ROW = IN_A_ROW._replace(help="So many trials in a row on a task all have to succeed")
