"""The next episode on a new task, or several of them in a row: the mean over tasks of a probability."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, check_count, is_concrete, refuse, require_real
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._access import ByThreshold
from jaxcert.certificates._arguments import padded_rows, prepare_thresholds
from jaxcert.certificates._averages import mean_over_tasks
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import DIFFERENCE_IN_A_ROW, answer, quantity_of
from jaxcert.certificates._figures import Told, floor_figures, floor_to, in_hundred, nothing, status_where
from jaxcert.certificates._question import COUNTED, Option, Question, Rows, same
from jaxcert.numerics._batches import as_memory_allows, elementwise, in_front
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import at_least, cast, complement_up, compute_dtype, unit_roundoff
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import as_successes, is_successes, probability
from jaxcert.returns._sample import Needs, Sample, placed, sample_of
from jaxcert.returns.summaries import Histogram


def consecutive_successes_threshold(
    probability: chex.Numeric | Sequence[float],
    num_episodes: chex.Numeric | Sequence[int],
    *,
    validate: bool = True,
) -> jax.Array:
    r"""The threshold for ``certify`` above which k episodes in a row all succeed with a wanted probability.

    .. math:: J^k \ge \tau \iff J \ge \tau^{1/k}

    for returns of 0 and 1, whose mean J is the success probability of one episode: pass^k in benchmarks of agents. So
    ``certify`` at this threshold says on what share of new tasks k independent episodes all succeed with probability
    at least tau. The mean over tasks of J^k is another quantity; ``certify_episode`` on the products of k rollouts
    certifies it.

    Args:
        probability: tau in (0, 1], of all k episodes succeeding on one task.
        num_episodes: k, whole numbers of at least 1.
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give infinity,
            at which nothing is certified.

    Both arguments broadcast and may be traced.

    Returns:
        The threshold in (0, 1], never below the exact value.

    Raises:
        ValueError: for a probability outside (0, 1], or episodes that are not a whole number of at least 1.

    Example:
        >>> import jax
        >>> from jaxcert import certify
        >>> threshold = consecutive_successes_threshold(0.9, 5)
        >>> print(f"{threshold:.4f}")
        0.9791
        >>> successes = jax.random.bernoulli(jax.random.key(0), 0.999, (100, 400))
        >>> found = certify(successes, threshold, support=(0, 1), delta=0.01, bound="clopper_pearson")
        >>> print(f"five in a row with probability 0.9 on {float(found.safety[0]):.3f} of new tasks")
        five in a row with probability 0.9 on 0.953 of new tasks

    Reference: the page on means and tails, section on episodes in a row.
    """
    dtype = compute_dtype(probability)
    if validate and is_concrete(probability, num_episodes):
        tau, k = as_numbers("probability", probability), as_numbers("num_episodes", num_episodes)
        refuse("probability", tau, (tau > 0) & (tau <= 1), "a probability in (0, 1]")
        whole = (k >= 1) & (k == np.floor(k)) & (k <= float(jnp.finfo(dtype).max))
        refuse("num_episodes", k, whole, "a whole number of at least 1")
    require_real("probability", probability)
    require_real("num_episodes", num_episodes)
    tau, k = cast(probability, dtype, "up"), cast(num_episodes, dtype, "up", whole=True)
    return elementwise(_root, probability=tau, num_episodes=k)


@jax.jit
def _root(tau: jax.Array, k: jax.Array) -> jax.Array:
    """tau^(1/k), rounded up."""
    tau, k = jnp.broadcast_arrays(tau, k)
    valid = (tau > 0) & (tau <= 1) & (k >= 1) & (k == jnp.floor(k)) & (k < jnp.inf)
    share = quotient(log(jnp.where(valid, tau, 1)), jnp.where(valid, k, 1))
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
    reached = consecutive_successes_threshold(thresholds, num_episodes, validate=False)
    reached = np.asarray(reached) if is_concrete(reached) else reached
    return reached, f"probability that the next {num_episodes} trials all succeed"


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
        rollouts: which rollouts of a task it rests on, "all" or "first" (static).
        num_episodes: k (static).
        of_successes: whether returns are of type bool: a return of 1 is a success (static).
    """

    thresholds: jax.Array = dataclasses.field(metadata=along("threshold", column="threshold"))
    safety: jax.Array = dataclasses.field(metadata=along("threshold"))
    epsilon: jax.Array = dataclasses.field(metadata=along("threshold"))
    status: jax.Array = dataclasses.field(metadata=along("threshold"))
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    rollouts: str = dataclasses.field(metadata={"static": True})
    num_episodes: int = dataclasses.field(default=1, metadata={"static": True})
    of_successes: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def not_about(self) -> str:
        return "a given task"

    _shown: ClassVar = ("thresholds", "safety", "delta", "num_tasks", "rollouts", "num_episodes")

    @property
    def _apart(self) -> str:
        """Label for plot legends: it is about episodes, not expected returns."""
        return f"the next {'episode' if self.num_episodes == 1 else f'{self.num_episodes} episodes'}"

    def _told(self, index: int) -> Told:
        threshold, safety = self._held(index, "thresholds", "safety")
        subject, event = self._words(threshold)
        if not safety > 0:
            return nothing(f"the probability that {subject} {event}")
        task, count = "on a new task from the same distribution", in_hundred(safety)
        often = f"{count} times in 100" if count else f"a share of {floor_figures(safety, 2)} of times"
        least = f"with probability at least {floor_to(safety, 4)}.{self._note(index)}"
        return Told(f"{task}, {subject} {event} {least}", f"At least {often},", f"{subject} {task} {event}")

    def _words(self, threshold: float) -> tuple[str, str]:
        """Which episodes, and what they do."""
        single, succeeds = self.num_episodes == 1, self.of_successes and 0 < threshold <= 1
        each = "trial" if succeeds else "episode"
        subject = f"the next {each}" if single else f"all of the next {self.num_episodes} {each}s"
        event = f"succeed{'s' * single}" if succeeds else f"return{'s' * single} at least {floor_figures(threshold)}"
        return subject, event


def certify_episode(
    returns: chex.Array,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    delta: chex.Numeric,
    num_episodes: int = 1,
    rollouts: Literal["all", "first"] = "all",
    where: chex.Array | None = None,
    validate: bool = True,
) -> EpisodeCertificate:
    r"""Certify the return of one new episode on a new task, or of several, rather than an expected return.

    At each threshold t, fixed before the data are seen, with p_i the fraction of the rollouts of task i that return at
    least t, and r the number of tasks whose first rollout does not,

    .. math:: P_{M \sim D,\, G}[G \ge t] \ge L(p_1, \dots, p_n; \delta) \quad \text{("all")}, \qquad
              P_{M \sim D,\, G}[G \ge t] \ge 1 - U(r; n, \delta) \quad \text{("first")}

    with probability at least 1 - delta, one-sided. L is the betting lower bound on the mean of independent numbers in
    [0, 1], U the Clopper-Pearson limit, which is exact and is used whenever there is one rollout per task. On all
    rollouts the certificate is the higher, the more the rollouts of a task differ; if they all agree, "first" is
    slightly higher.

    For k episodes on one new task that all reach t, "k of k", p_i is the share of the choices of k rollouts of task i
    that all do: with s of its m rollouts that reach t, s (s - 1) .. (s - k + 1) / (m (m - 1) .. (m - k + 1)), whose
    mean is that probability. "first" are the first k rollouts, as are all of them at m = k.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks; leading axes are batched. No
            support is needed.
        thresholds: float[t], or a scalar for one. For successes, an array of bool, it is 1.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        num_episodes: k, of one new task; at most as many as each task has rollouts. Chosen before the data are seen.
        rollouts: "all", or the "first" one (or the first k) of each task that ``where`` lets count. Chosen before the
            data are seen.
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

    Reference: Schnitzer et al. (2026), section 5.3, for "first"; the theory page, equation (17.3).
    """
    _check_rollouts("rollouts", rollouts)
    check_count("num_episodes", num_episodes)
    sample = sample_of(Needs("the next episode", support=False), returns, None, where, validate)
    _check_enough(sample, num_episodes)
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    row = prepare_thresholds(thresholds, sample.dtype, validate)
    rows = padded_rows(row, sample, 1)
    exact = rollouts == "first" or int(sample.num_rollouts) == num_episodes
    fields = _shares_reached(exact, num_episodes, *placed((sample, rows, delta)))
    fields |= {"thresholds": rows, "delta": delta}
    settings = {"rollouts": rollouts, "num_episodes": num_episodes, "of_successes": is_successes(returns)}
    return answer(EpisodeCertificate, fields, sample.num_tasks, len(row), **settings)


def _check_rollouts(name: str, value: str) -> None:
    if value not in ("all", "first"):
        raise ValueError(f"{name} is {value!r}; expected 'all' or 'first'")


def _check_enough(sample: Sample, num_episodes: int) -> None:
    n, m = int(sample.num_tasks), int(sample.num_rollouts)
    _check_count("returns", m, None if sample.where is None else sample.where[..., :n, :], num_episodes)


def _check_count(name: str, m: int, where: Any, num_episodes: int) -> None:
    """Raise ValueError for a task with fewer rollouts than episodes are to succeed."""
    if m < num_episodes:
        raise ValueError(f"{name} have {m} rollouts per task; expected at least num_episodes, {num_episodes}")
    if num_episodes > 1 and where is not None and is_concrete(where):
        counts = np.asarray(where).sum(axis=-1)
        if counts.min() < num_episodes:
            raise ValueError(f"a task has {counts.min()} rollouts; expected at least num_episodes, {num_episodes}")


@functools.partial(jax.jit, static_argnums=(0, 1))
def _shares_reached(first: bool, k: int, sample: Sample, thresholds, delta) -> dict[str, jax.Array]:
    """From at most the share of the choices of k rollouts that all reach each threshold, [..., t, n]."""
    x, mask = jnp.asarray(sample.values), sample.mask
    mask = jnp.ones(x.shape, bool) if mask is None else mask
    there = in_front(x[..., 0], sample.num_tasks)
    count = jnp.sum(mask, axis=-1, dtype=jnp.int32)
    valid = jnp.all(jnp.isfinite(x) | ~mask, axis=-1) & (count >= k)
    if first:
        mask, count = mask & (jnp.cumsum(mask, axis=-1) <= k), jnp.minimum(count, k)

    def reached(threshold: jax.Array) -> jax.Array:
        hits = jnp.sum(at_least(x, threshold) & mask, axis=-1, dtype=jnp.int32)
        hits, total = jnp.where(valid, hits, 0).astype(x.dtype), jnp.maximum(count, k).astype(x.dtype)
        return jnp.where(hits == total, 1, _share_of_choices(hits, total, k))

    shares = jnp.moveaxis(as_memory_allows(reached, thresholds, x.size), 0, -2)
    ends, some = (jnp.zeros((), x.dtype), jnp.ones((), x.dtype)), there[..., None, :] if sample.padded else None
    lower = mean_over_tasks(CLOPPER_PEARSON if first else BETTING, shares, delta, *ends, some)
    bad = jnp.isneginf(lower) | jnp.broadcast_to(~jnp.isfinite(thresholds), lower.shape)  # -inf for an invalid delta
    safety = jnp.where(bad, 0, jnp.clip(lower, 0, 1))
    status = status_where(safety > 0, ~bad & jnp.all(valid | ~there, axis=-1, keepdims=True))
    return {"safety": safety, "epsilon": complement_up(safety), "status": status}


def _share_of_choices(hits: jax.Array, total: jax.Array, k: int, *, up: bool = False) -> jax.Array:
    """At most, or at least, s (s - 1) .. (s - k + 1) / (m (m - 1) .. (m - k + 1)); 0 for s < k."""
    u = unit_roundoff(hits.dtype) * (-1 if up else 1)

    def narrowed(i: jax.Array, share: jax.Array) -> jax.Array:
        left = jnp.maximum(hits - i.astype(hits.dtype), 0)
        # A quotient and two products.
        return share * (quotient(left, jnp.maximum(total - i.astype(hits.dtype), 1)) * (1 - 6 * u))

    return jax.lax.fori_loop(0, k, narrowed, jnp.ones_like(hits))


class SeveralInARow(NamedTuple):
    """In place of returns the shares of the choices of k trials of each task that all succeed; and what they are of."""

    shares: Any
    quantity: str


def all_in_a_row(num_episodes: int, returns: Any, support: Any, where: Any) -> SeveralInARow | None:
    """For means of the probability that several trials all succeed, of one policy or two; None for a single trial.

    Shares are rounded down, those of policy B up.
    """
    check_count("num_episodes", num_episodes)
    if num_episodes == 1:
        return None
    returns = as_successes(returns, support, where)
    if not isinstance(returns, Paired):
        return SeveralInARow(_shares("returns", returns, where, num_episodes), _IN_A_ROW.format(num_episodes))
    a = _shares("returns_a", returns.returns_a, returns.where_a, num_episodes)
    b = _shares("returns_b", returns.returns_b, returns.where_b, num_episodes, up=True)
    return SeveralInARow(Paired(a, b), DIFFERENCE_IN_A_ROW.format(num_episodes))


def _shares(name: str, returns: Any, where: Any, k: int, *, up: bool = False) -> jax.Array:
    if isinstance(returns, Histogram) or not is_successes(returns):
        raise ValueError(f"num_episodes is {k}; expected {name} of successes, an array of bool, or num_episodes=1")
    _check_count(name, np.shape(returns)[-1], where, k)
    if np.shape(returns)[-1] == k and where is None:
        return jnp.all(returns, axis=-1, keepdims=True)
    return _share_in_a_row(returns, where, k, up)


@functools.partial(jax.jit, static_argnums=(2, 3))
def _share_in_a_row(successes: jax.Array, where: jax.Array | None, k: int, up: bool) -> jax.Array:
    """The share of the choices of k trials of each task that all succeed, rounded, [..., n, 1].

    Its mean is the probability that the next k trials all succeed. With fewer trials it is 0, or 1 if rounded ``up``.
    """
    mask = jnp.ones(successes.shape, bool) if where is None else where
    hits, count = (jnp.sum(each, axis=-1, keepdims=True, dtype=jnp.int32) for each in (successes & mask, mask))
    hits, total = (each.astype(jnp.result_type(float)) for each in (hits, jnp.maximum(count, k)))
    share = jnp.where(hits == total, 1, jnp.minimum(_share_of_choices(hits, total, k, up=up), 1))
    return jnp.where(count >= k, share, float(up))


_IN_A_ROW = "probability of {} successes in a row"
_NUM_EPISODES = "So many episodes on a new task all have to reach the threshold"
_ON_A_TASK = "So many trials in a row on a task all succeed with the probability of the threshold"
_ROLLOUTS = "On which rollouts of a task it rests: all, or first"

_MEAN_IN_A_ROW = "So many trials in a row on a task all have to succeed"
IN_A_ROW = Option("num_episodes", int, _ON_A_TASK, alias="in-a-row", check=check_count)
MEAN_IN_A_ROW = IN_A_ROW._replace(help=_MEAN_IN_A_ROW)
EPISODE = Question(
    name="episode",
    words="with which probability does the next episode on a new task reach a threshold, or each of the next ones?",
    function=certify_episode,
    rows=Rows({name: COUNTED[name] for name in ("threshold", "safety", "epsilon", "status")}, of_successes=1.0),
    settings=same("delta", "num_episodes", "rollouts"),
    options=(
        IN_A_ROW._replace(help=_NUM_EPISODES),
        Option("rollouts", str, _ROLLOUTS, flag="which-rollouts", check=_check_rollouts),
    ),
)
