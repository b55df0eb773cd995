"""The next episode on a new task, or several in a row; and trials in a row in other questions about successes."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_count, is_concrete, refuse
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._answer import ByThreshold
from jaxcert.certificates._averages import mean_over_tasks
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import DIFFERENCE_IN_A_ROW, answer, quantity_of
from jaxcert.certificates._counting import status_where
from jaxcert.certificates._figures import floor_figures, floor_to, nothing
from jaxcert.certificates._question import COUNTED, Option, Question, Rows
from jaxcert.certificates._registry import prepare_thresholds
from jaxcert.numerics._batches import as_memory_allows, in_front
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import at_least, cast, complement_up, unit_roundoff
from jaxcert.returns._paired import Paired, refuse_mask
from jaxcert.returns._prepared import as_successes, is_successes, probability
from jaxcert.returns._sample import Needs, Sample, padded_rows, placed, sample_of
from jaxcert.returns.summaries import Histogram


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class EpisodeCertificate(ByThreshold):
    """Certified probability that the next episode, or each of the next k, reaches a threshold; a pytree of arrays.

    With probability at least 1 - delta over the sampled tasks and rollouts: one new episode, on a new task from the
    same distribution, has a return of at least the threshold with probability at least ``safety`` = 1 - ``epsilon``; or
    k new episodes, on one new task, all have.

    Attributes:
        thresholds: float[..., t].
        safety: certified probability, rounded down, float[..., t].
        epsilon, status, delta, num_tasks: as of ``Certificate``.
        num_episodes: k (static).
        of_successes: whether returns are of type bool: a return of 1 is a success (static).
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("threshold", column="threshold"))
    safety: jax.Array = dataclasses.field(metadata=along("threshold"))
    epsilon: jax.Array = dataclasses.field(metadata=along("threshold"))
    status: jax.Array = dataclasses.field(metadata=along("threshold"))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    num_episodes: int = dataclasses.field(default=1, metadata=STATIC)
    of_successes: bool = dataclasses.field(default=False, metadata=STATIC)

    question = "episode"

    @property
    def not_about(self) -> str:
        return "a given task"

    @property
    def _apart(self) -> str:
        """Label for plot legends, about episodes rather than expected returns."""
        return f"the next {'episode' if self.num_episodes == 1 else f'{self.num_episodes} episodes'}"

    def _told(self, index: int) -> str:
        threshold, safety = self._held(index, "thresholds", "safety")
        single, succeeds = self.num_episodes == 1, self.of_successes and 0 < threshold <= 1
        each = "trial" if succeeds else "episode"
        subject = f"the next {each}" if single else f"all of the next {self.num_episodes} {each}s"
        event = f"succeed{'s' * single}" if succeeds else f"return{'s' * single} at least {floor_figures(threshold)}"
        if not safety > 0:
            return nothing(f"the probability that {subject} {event}")
        least = f"with probability at least {floor_to(safety, 4)}.{self._note(index)}"
        return f"on a new task from the same distribution, {subject} {event} {least}"


def certify_episode(
    returns: Array,
    thresholds: Numeric | Sequence[Numeric],
    *,
    delta: Numeric,
    num_episodes: int = 1,
    where: Array | None = None,
    validate: bool = True,
) -> EpisodeCertificate:
    r"""Certify the return of one or several new episodes on a new task, rather than an expected return.

    At each threshold t, fixed before the data are seen, with p_i the fraction of the rollouts of task i that return at
    least t,

    .. math:: P_{M \sim D,\, G}[G \ge t] \ge L(p_1, \dots, p_n; \delta)

    with probability at least 1 - delta, one-sided. L is the betting lower bound on the mean of independent numbers in
    [0, 1]; with one rollout per task it is the Clopper-Pearson limit, which is exact.

    For k episodes on one new task that all reach t, "k of k", p_i is the share of the choices of k rollouts of task i
    that all do: with s of its m rollouts that reach t, s (s - 1) .. (s - k + 1) / (m (m - 1) .. (m - k + 1)), whose
    mean is that probability. At m = k the limit is exact again.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks; leading axes are batched. No
            support is needed.
        thresholds: float[t], or a scalar for one. For successes, an array of bool, it is 1.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        num_episodes: k, of one new task; at most as many as each task has rollouts. Chosen before the data are seen.
        where, validate: as in ``certify``. A task with a return that is not finite, and was not refused, counts as
            failed.

    Returns:
        An ``EpisodeCertificate`` with arrays [..., t].

    Raises:
        ValueError: for invalid shapes, names or values, as ``certify``, and for a summary.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> print(certify_episode(jaxcert.sample_returns("cheetah"), 500.0, delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        the next episode returns at least 500 with probability at least 0.9548.
        >>> print(certify_episode(np.ones((200, 6), bool), 1, num_episodes=4, delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        all of the next 4 trials succeed with probability at least 0.9772.

    Reference: Schnitzer et al. (2026), section 5.3, for one rollout per task; the theory page, equation (17.3).
    """
    check_count("num_episodes", num_episodes)
    needs = Needs(f"certify_episode(num_episodes={num_episodes})", support=False, min_rollouts=num_episodes)
    sample = sample_of(needs, returns, None, where, validate)
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    row = prepare_thresholds(thresholds, sample.dtype, validate)
    rows = padded_rows(row, sample, 1)
    exact = int(sample.num_rollouts) == num_episodes
    fields = _shares_reached(exact, num_episodes, *placed((sample, rows, delta)))
    fields |= {"thresholds": rows, "delta": delta}
    settings = {"num_episodes": num_episodes, "of_successes": is_successes(returns)}
    return answer(EpisodeCertificate, fields, sample.num_tasks, len(row), **settings)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _shares_reached(exact: bool, k: int, sample: Sample, thresholds, delta) -> dict[str, jax.Array]:
    """From at most the share of the choices of k rollouts that all reach each threshold, [..., t, n]."""
    x, mask = jnp.asarray(sample.values), sample.mask
    mask = jnp.ones(x.shape, bool) if mask is None else mask
    there = in_front(x[..., 0], sample.num_tasks)
    count = jnp.sum(mask, axis=-1, dtype=jnp.int32)
    valid = jnp.all(jnp.isfinite(x) | ~mask, axis=-1) & (count >= k)

    def reached(threshold: jax.Array) -> jax.Array:
        return _share_that_succeed(at_least(x, threshold) & valid[..., None], mask, k, x.dtype)

    shares = jnp.moveaxis(as_memory_allows(reached, thresholds, x.size), 0, -2)
    ends, some = (jnp.zeros((), x.dtype), jnp.ones((), x.dtype)), there[..., None, :] if sample.padded else None
    lower = mean_over_tasks(CLOPPER_PEARSON if exact else BETTING, shares, delta, *ends, some)
    bad = jnp.isneginf(lower) | jnp.broadcast_to(~jnp.isfinite(thresholds), lower.shape)  # -inf for an invalid delta
    safety = jnp.where(bad, 0, jnp.clip(lower, 0, 1))
    status = status_where(safety > 0, ~bad & jnp.all(valid | ~there, axis=-1, keepdims=True))
    return {"safety": safety, "epsilon": complement_up(safety), "status": status}


_ON_A_TASK = "So many trials in a row on a task all succeed with the probability of the threshold"
IN_A_ROW = Option("num_episodes", int, _ON_A_TASK, flag="in-a-row", check=check_count)
MEAN_IN_A_ROW = IN_A_ROW._replace(help="So many trials in a row on a task all have to succeed")
EPISODE = Question(
    name="episode",
    words="with which probability does the next episode on a new task reach a threshold, or each of the next ones?",
    function=certify_episode,
    rows=Rows({name: COUNTED[name] for name in ("threshold", "safety", "epsilon", "status")}, of_successes=1.0),
    options=(IN_A_ROW._replace(help="So many episodes on a new task all have to reach the threshold"),),
)


# --- trials in a row in other questions: the threshold for them, and shares of choices in place of returns ----------


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
    mask = jnp.ones(trials.shape, bool) if where is None else where
    return _share_that_succeed(trials == 1, mask, k, jnp.result_type(float), up)[..., None]


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _share_that_succeed(successes: jax.Array, mask: jax.Array, k: int, dtype: Any, up: bool = False) -> jax.Array:
    """The share of the choices of k trials of each task that all succeed, rounded, [..., n].

    Its mean is the probability that the next k trials all succeed. With fewer trials it is 0, or 1 if rounded ``up``.
    """
    hits, count = (jnp.sum(each, axis=-1, dtype=jnp.int32) for each in (successes & mask, mask))
    share = share_of_choices(hits.astype(dtype), jnp.maximum(count, k).astype(dtype), k, up=up)
    return jnp.where(count >= k, share, float(up))
