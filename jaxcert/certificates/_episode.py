"""The next episode on a new task, or several of them in a row: the mean over tasks of a probability."""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_count
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._answer import ByThreshold
from jaxcert.certificates._arguments import padded_rows, prepare_thresholds
from jaxcert.certificates._averages import mean_over_tasks
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import answer
from jaxcert.certificates._figures import floor_figures, floor_to, nothing, status_where
from jaxcert.certificates._in_a_row import IN_A_ROW, share_of_choices
from jaxcert.certificates._question import COUNTED, Question, Rows
from jaxcert.numerics._batches import as_memory_allows, in_front
from jaxcert.numerics._rounding import at_least, complement_up
from jaxcert.returns._prepared import is_successes, probability
from jaxcert.returns._sample import Needs, Sample, placed, sample_of


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
        subject, event = self._words(threshold)
        if not safety > 0:
            return nothing(f"the probability that {subject} {event}")
        least = f"with probability at least {floor_to(safety, 4)}.{self._note(index)}"
        return f"on a new task from the same distribution, {subject} {event} {least}"

    def _words(self, threshold: float) -> tuple[str, str]:
        """The episodes of the statement, and the event."""
        single, succeeds = self.num_episodes == 1, self.of_successes and 0 < threshold <= 1
        each = "trial" if succeeds else "episode"
        subject = f"the next {each}" if single else f"all of the next {self.num_episodes} {each}s"
        event = f"succeed{'s' * single}" if succeeds else f"return{'s' * single} at least {floor_figures(threshold)}"
        return subject, event


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
        hits = jnp.sum(at_least(x, threshold) & mask, axis=-1, dtype=jnp.int32)
        hits, total = jnp.where(valid, hits, 0).astype(x.dtype), jnp.maximum(count, k).astype(x.dtype)
        return share_of_choices(hits, total, k)

    shares = jnp.moveaxis(as_memory_allows(reached, thresholds, x.size), 0, -2)
    ends, some = (jnp.zeros((), x.dtype), jnp.ones((), x.dtype)), there[..., None, :] if sample.padded else None
    lower = mean_over_tasks(CLOPPER_PEARSON if exact else BETTING, shares, delta, *ends, some)
    bad = jnp.isneginf(lower) | jnp.broadcast_to(~jnp.isfinite(thresholds), lower.shape)  # -inf for an invalid delta
    safety = jnp.where(bad, 0, jnp.clip(lower, 0, 1))
    status = status_where(safety > 0, ~bad & jnp.all(valid | ~there, axis=-1, keepdims=True))
    return {"safety": safety, "epsilon": complement_up(safety), "status": status}


EPISODE = Question(
    name="episode",
    words="with which probability does the next episode on a new task reach a threshold, or each of the next ones?",
    function=certify_episode,
    rows=Rows({name: COUNTED[name] for name in ("threshold", "safety", "epsilon", "status")}, of_successes=1.0),
    options=(IN_A_ROW._replace(help="So many episodes on a new task all have to reach the threshold"),),
)
