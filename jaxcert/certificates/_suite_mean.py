"""The mean performance over the tasks of a fixed list."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert._validation import choose
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Rollouts, finish, rollouts_of
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._attained import counted
from jaxcert.certificates._averages import mean_over_tasks
from jaxcert.certificates._certificate import answer, quantity_of
from jaxcert.certificates._counting import any_of
from jaxcert.certificates._episode import MEAN_IN_A_ROW, all_in_a_row
from jaxcert.certificates._figures import LISTED
from jaxcert.certificates._mean import MeanCertificate, mean_fields
from jaxcert.certificates._method import MOST_DELTA
from jaxcert.certificates._question import MEAN_ROWS, Question
from jaxcert.certificates._registry import Returns, default_bound
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._bets import factor, goal_up
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._programs import quickly
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import in_unit, next_down, unit_roundoff
from jaxcert.numerics._summation import count_of, sum_error, tree_sum
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import Support, as_successes, is_successes, probability
from jaxcert.returns._sample import Needs, Sample, placed, sample_of

# Odds of the bets, as multiples of the best bet for returns that vary by as much as their mean; smaller variation wants
# larger bets. The best bet of all loses little to the nearest of these: next to it, wealth is nearly constant.
_ODDS = tuple(2 ** (i / 3) for i in range(-6, 18))

_NEEDS = {needs.name: needs for needs in (Needs(BETTING.name), CLOPPER_PEARSON)}


def certify_suite_mean(
    returns: Returns,
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str | None = None,
    num_episodes: int = 1,
    where: Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify the mean of a policy's expected return over the tasks of a fixed list.

    All n tasks of the list were run, with m_i rollouts each. Only the rollouts are random, and all are independent.

    .. math:: P\Big[\, \frac1n \sum_i J_i \ge \sup\Big\{\mu : \sup_{0 \le \Lambda \le \min m_i} \prod_{i,j}
              \Big(1 - \frac{\Lambda}{m_i} + \frac{\Lambda}{m_i} \frac{X_{ij} - a}{\mu - a}\Big) \ge
              \frac1\delta\Big\} \Big] \ge 1 - \delta,

    one-sided, a bet on each rollout in proportion to 1 / m_i, the best one in hindsight. Every task counts equally, for
    any number of rollouts. With equally many rollouts in every task, it is the betting bound of all n m rollouts. With
    one rollout of each, a list certifies as much as a sample of tasks. Successes are then counted together: by
    Hoeffding (1956) the Clopper-Pearson bound of all n m of them, at a delta of at most 1/4, holds for unequal coins,
    too.

    Args:
        returns: float[..., n, m] or bool, m rollouts of a fixed policy on each of the n tasks; a ``Histogram``; or two
            policies on one list (``paired``), whose mean difference is certified.
        support, delta, where, validate: as in ``certify_mean``; b may be infinite. Tasks may have different numbers of
            rollouts, at least one each.
        bound: "betting", or "clopper_pearson" for returns of 0 and 1, the default for an array of bool; of several in a
            row only for so many rollouts of each task.
        num_episodes: k. Above 1, for successes, the mean is over the probabilities that k trials in a row on a task all
            succeed (pass^k). If a task has more than k rollouts, the bound is "betting", on the share of the choices of
            k of them that all succeed.

    Returns:
        A ``MeanCertificate`` with arrays [...].

    Raises:
        ValueError: for invalid shapes, names or values, as ``certify``.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(10) < np.tile([10, 10, 9, 10, 2], 8)[:, None]  # ten trials of each of 40 tasks
        >>> print(certify_suite_mean(passed, delta=0.05))
        With confidence 0.95: over these 40 tasks, the probability of success is at least 0.7854... on average.

    Reference: the theory page, equations (3.12), (22.4) and (22.5); Hoeffding (1956), Theorem 4.
    """
    returns, named = as_successes(returns, support, where, bound), bound
    bound = choose("bound", default_bound(bound, returns), _NEEDS).name
    if several := all_in_a_row(num_episodes, returns, support, where, validate):
        returns, support, where = several[0], (0, 1), None
        if named == CLOPPER_PEARSON.name and not is_successes(returns):
            raise ValueError(
                f"bound is {named!r}, which needs num_episodes rollouts of each task; expected betting for more"
            )
        bound = bound if is_successes(returns) else BETTING.name
    needs = _NEEDS[bound]
    sample = sample_of(needs, returns, support, where, validate)
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    fields = _mean(needs.binary, *placed((sample, delta))) | {"delta": delta}
    quantity = several[1] if several else quantity_of(bound, returns)
    settings: dict[str, Any] = {"bound": bound, "quantity": quantity, "num_episodes": num_episodes}
    return answer(MeanCertificate, fields, sample.num_tasks, question="suite_mean", source=LISTED, **settings)


@functools.partial(quickly, static_argnums=0)
def _mean(binary: bool, sample: Sample, delta: jax.Array) -> dict[str, jax.Array]:
    if not sample.is_full:
        mean = _best_bets(sample, delta, binary=binary)
    elif binary:
        mean = _of_successes(sample, delta)
    else:  # the betting bound of all rollouts of all tasks
        shape, mask = (*sample.values.shape[:-2], -1), sample.mask
        mask = None if mask is None else mask.reshape(shape)
        mean = mean_over_tasks(BETTING, sample.values.reshape(shape), delta, sample.low, sample.high, mask)
    # NaN or -inf where input is invalid.
    mean, low = jnp.where(jnp.isnan(mean), -jnp.inf, mean), jnp.asarray(sample.low)
    return mean_fields(mean, low, jnp.ones_like(low), jnp.full_like(low, jnp.inf))


def _of_successes(sample: Sample, delta: jax.Array) -> jax.Array:
    """Clopper-Pearson of all trials, [...]; -inf where a return or delta is invalid.

    A binomial tail of at most 1/4 at c says that c >= n p + 1, where it is at least the tail of unequal coins with the
    mean p, unless c = 1: then Markov's inequality says delta / n.
    """
    found = counted(sample)
    there = in_front(found.successes, sample.num_tasks)
    valid = ~any_of(found.successes < 0, sample.num_tasks)[..., 0] & in_unit(delta)
    delta = jnp.minimum(delta, MOST_DELTA)
    total = count_of(tree_sum(jnp.where(there, jnp.maximum(found.successes, 0), 0)), there.shape[-1], "down")
    size = count_of(tree_sum(jnp.where(there, found.num_rollouts, 0)), there.shape[-1], "up")
    level = jnp.broadcast_to(jnp.where(valid, delta, 0.5), total.shape)
    exact = limit(total, size, level, upper=False)
    single = quotient(level, size) * (1 - 4 * unit_roundoff(level.dtype))
    lower = jnp.where(total == 1, jnp.minimum(exact, single), exact)
    return finish(lower, jnp.asarray(sample.low), valid)


class _Bets(NamedTuple):
    """Admissible bets on the rollouts of each task."""

    data: Rollouts  # the returns above a
    total: jax.Array  # Lambda of each, the sum of its bets on a task, [..., bets]
    each: jax.Array  # the bet on a rollout, [..., bets, n]
    mean: jax.Array  # at least the sum over tasks of their averages, [...]
    num_tasks: jax.Array


def _best_bets(sample: Sample, delta: jax.Array, *, binary: bool) -> jax.Array:
    """The largest mean of which the best bet refutes all smaller ones, for any numbers of rollouts."""
    low, data = jnp.asarray(sample.low), rollouts_of(sample, binary=binary)
    # Tasks that are not there are valid, without an excess, and no task has fewer rollouts.
    there = in_front(data.valid, sample.num_tasks)
    most = jnp.minimum(jnp.where(there, data.num_rollouts, jnp.inf), jnp.finfo(data.num_rollouts.dtype).max)
    data = data._replace(valid=data.valid | ~there, num_rollouts=most)
    valid = jnp.all(data.valid, axis=-1) & ~jnp.any(data.refuted, axis=-1) & in_unit(delta)
    goal = goal_up(jnp.where(in_unit(delta), delta, 0.5))
    bets = _bets(data, goal, jnp.asarray(sample.num_tasks, low.dtype))
    average = bets.mean / bets.num_tasks
    usable = valid & (average > 0)
    top = jnp.where(usable, average, 1.0)

    def log_wealth(mu: jax.Array) -> jax.Array:
        """At most the logarithm of the best product at mu, [...]."""
        rows = jax.vmap(lambda total, each: _log_product(bets, mu, total, each), (-1, -2), -1)(bets.total, bets.each)
        return jnp.max(rows, axis=-1)

    def look(mu: jax.Array) -> tuple[jax.Array, jax.Array]:
        wealth, slope = jax.jvp(log_wealth, (mu,), (jnp.ones_like(mu),))
        return goal - wealth, mu + jnp.where(slope < 0, (goal - wealth) / jnp.where(slope < 0, slope, -1), 0)

    start = top * (1 - 0.5 * jnp.minimum(bets.total[..., 6] / jnp.min(data.num_rollouts, axis=-1), 0.9))
    found = safe_root(look, start, safe=jnp.zeros_like(top), unsafe=top)
    return finish(jnp.where(usable, next_down(found), 0), low, valid)


def _bets(data: Rollouts, goal: jax.Array, num_tasks: jax.Array) -> _Bets:
    """The bets that numbers of tasks and rollouts and delta determine."""
    count = jnp.maximum(data.num_rollouts, 1)
    n, fewest = count.shape[-1], jnp.min(count, axis=-1)
    usual = jnp.sqrt(2 * goal / (num_tasks * fewest))
    odds = usual[..., None] * jnp.expand_dims(jnp.asarray(_ODDS, count.dtype), range(usual.ndim))
    total = fewest[..., None] * (odds / (1 + odds)) * (1 - 8 * unit_roundoff(count.dtype))
    each = quotient(*(jnp.broadcast_to(part, (*total.shape, n)) for part in (total[..., None], count[..., None, :])))
    slack = sum_error(data.x.shape[-1], count.dtype) + (n + 8) * unit_roundoff(count.dtype)
    mean = jnp.sum(quotient(data.total, count), axis=-1) * (1 + slack)
    return _Bets(data, total, jnp.minimum(each, 1), mean, num_tasks)


def _log_product(bets: _Bets, mu: jax.Array, total: jax.Array, each: jax.Array) -> jax.Array:
    """At most the logarithm of the product of one Lambda, [...], for the exact bets Lambda / m_i.

    z = 1 - l + l x / mu is computed as 1 + l (x / mu - 1) where that is at least 3/4, else as a sum of two terms that
    are not negative. The bet, the quotient and z are off by 24 u l (1 + x / mu) in units of z, and a logarithm by 8 u
    of itself. The sum of abs(ln z) is at most twice the sum of l x / mu, which bounds its positive part, less its sum.
    """
    data = bets.data
    n, u = data.num_rollouts.shape[-1], unit_roundoff(mu.dtype)
    bet, unit = each[..., None], mu[..., None, None]

    def term(excess: jax.Array) -> jax.Array:
        ratio = excess / unit
        gain = bet * (ratio - 1)
        near = gain >= -0.25
        whole = jnp.maximum(factor(bet, ratio), jnp.finfo(mu.dtype).tiny)
        return jnp.where(near, jnp.log1p(jnp.where(near, gain, 0)), jnp.log(jnp.where(near, 1, whole)))

    found = tree_sum(data.sum(term))
    ratio = total * jax.lax.stop_gradient(bets.mean / mu)
    size = 2.1 * ratio + jnp.abs(jax.lax.stop_gradient(found))
    sums = sum_error(data.x.shape[-1], mu.dtype) + sum_error(n, mu.dtype)
    return found - (1.1 * (sums + 12 * u) * size + 26 * u * (total * bets.num_tasks + ratio))


SUITE_MEAN = Question(
    name="suite_mean",
    words="what is the mean performance over the tasks of this fixed list at least?",
    function=certify_suite_mean,
    rows=MEAN_ROWS,
    each=None,
    options=(MEAN_IN_A_ROW,),
    shortcut="mean",
    listed=True,
    paired=True,
)
