"""Certificates that hold at every moment: from returns, in the order of their tasks."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._anytime_epsilon import Prior, anytime_epsilon, anytime_risk, check_prior, prepare_prior
from jaxcert.certificates._arguments import bound_for, levels_of, padded_rows, thresholds_of
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import Certificate, certificate_of
from jaxcert.certificates._counting import any_of, bad_levels, reached, status_of
from jaxcert.certificates._method import BINOMIAL, inflate
from jaxcert.certificates._question import Option, Question, same
from jaxcert.certificates._registry import missing_of_counts
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import Sample, placed, sample_of, sample_of_numbers
from jaxcert.returns.summaries import Summary


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnytimeCertificate(Certificate):
    """A ``Certificate`` after all n tasks, with the risks after each earlier one; all of them hold together.

    Epsilon is the smallest one of all moments so far, so that it never grows with a task.

    Attributes:
        history: certified risk after each task, float[..., n, t]; the last one is ``epsilon``.
        prior: (alpha, gamma) of the mixture, float[2].
        question: which of ``jaxcert.questions`` it answers, by name (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_anytime
        >>> found = certify_anytime(jnp.full((200, 100), 0.9), 0.8, support=(0, 1), delta=0.01)
        >>> print(found)
        With confidence 0.99, at every moment of the sampling of tasks: on a new task from the same distribution, the
        expected return is at least 0.8 with probability at least 0.9665.
        >>> print(found.first_reached(0.9))
        [65]
    """

    history: jax.Array = dataclasses.field(metadata=along("task", "threshold"))
    prior: jax.Array = dataclasses.field(metadata=along("parameter"))
    question: str = dataclasses.field(default="anytime", kw_only=True, metadata={"static": True})

    def first_reached(self, safety: chex.Numeric) -> jax.Array:
        """The number of tasks after which a safety was certified; 0 if it was not.

        Args:
            safety: the wanted safety in (0, 1), a scalar or one for each threshold, float[t].

        Returns:
            int32[..., t].

        Raises:
            ValueError: for a safety outside (0, 1) that is concrete.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxcert import certify_anytime
            >>> found = certify_anytime(jnp.full((200, 100), 0.9), [0.8, 0.9], support=(0, 1), delta=0.01)
            >>> print(found.first_reached(0.95))
            [133   0]
        """
        wanted = probability("safety", safety, self.history.dtype, "up", validate=True)
        reached = complement_down(self.history) >= jnp.broadcast_to(wanted, self.history.shape)
        first = jnp.argmax(reached, axis=-2) + 1
        return jnp.where(jnp.any(reached, axis=-2), first, 0).astype(jnp.int32)

    def counted_as(self, stated, sure, near, below, rounding) -> np.ndarray | None:
        """As of a ``Certificate``; here the risk depends on which of the tasks they are."""
        return counted_as_stated(self, sure, near, below, stated, rounding)

    @property
    def _when(self) -> str:
        return "at every moment of the sampling of tasks"


def certify_anytime(
    returns: chex.Array | Summary | Paired,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str | None = None,
    prior: Prior = (1.0, 1.0),
    where: chex.Array | None = None,
    validate: bool = True,
) -> AnytimeCertificate:
    r"""Certify a policy after each task, so that one may stop sampling tasks at any moment.

    At each threshold B, fixed before the data were seen:

    .. math:: P\big[\, \varepsilon(B) \le \hat\varepsilon_i(B) \text{ for all } i \,\big] \ge 1 - \delta, \qquad
              \hat\varepsilon_i(B) = \min_{j \le i} \hat\varepsilon(k_j(B), j),

    where k_j(B) counts the violations among the first j tasks, and ``anytime_epsilon`` gives the risk on the right. So
    sampling may stop as soon as a wanted safety is certified, or go on if it is not.

    Args:
        returns: float[..., n, m], a summary, or two policies (``paired``), as in ``certify``; the tasks in the order in
            which they were sampled.
        thresholds: float[t], or a scalar for one; wanted expected returns B.
        support, bound, where, validate: as in ``certify``.
        delta: failure probability of the certificates at one threshold, at all moments together, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1); a scalar. 0.05 by default.
        prior: (alpha, gamma) of the mixture, as in ``anytime_epsilon``; two scalars.

    A new n is a new shape, for which the call is compiled again; ``anytime_epsilon`` is for loops over tasks.

    Returns:
        An ``AnytimeCertificate`` with arrays [..., t] after all tasks, and the history [..., n, t].

    Raises:
        ValueError: as ``certify``, and for a prior that is no pair of positive numbers.

    Warns:
        UserWarning: for thresholds outside the support, as ``certify``.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = certify_anytime(returns, 400.0, support=(0, 1000), delta=0.01)
        >>> print(f"{found.safety[0]:.3f}, and 0.9 after {found.first_reached(0.9)[0]} tasks")
        0.967, and 0.9 after 65 tasks

    Reference: the theory page, section 16.
    """
    per_task, returns = bound_for(bound, returns, support, where)
    # A search for each task.
    sample = sample_of(dataclasses.replace(per_task, costly=True), returns, support, where, validate)
    rows = thresholds_of(sample, thresholds, validate)
    prior = prepare_prior(prior, sample.dtype, validate)
    if np.ndim(prior[0]) or np.ndim(prior[1]):
        raise ValueError(f"prior has shapes {np.shape(prior[0])} and {np.shape(prior[1])}; expected scalars")
    delta, beta = levels_of(BINOMIAL, delta, beta, sample, validate)
    return certify_in_order(per_task.name, per_task, sample, rows, beta, delta, prior, returns)


def certify_in_order(
    name: str,
    bound: Bound | None,
    sample: Sample,
    thresholds: Any,
    beta: Any,
    delta: Any,
    prior: tuple[Any, Any],
    returns: Any = None,
) -> AnytimeCertificate:
    """From ``task_bounds`` a sample, by the name of the bound, in the order of the tasks, at thresholds [t]."""
    rows = padded_rows(thresholds, sample, 1)
    fields = _in_order(bound, *placed((sample, rows, beta, delta, prior)))
    fields |= {"thresholds": rows, "beta": beta, "delta": delta}
    return certificate_of(AnytimeCertificate, fields, sample.num_tasks, len(thresholds), name, "anytime", returns)


@functools.partial(jax.jit, static_argnums=0)
def _in_order(bound: Bound | None, sample: Sample, thresholds, beta, delta, prior) -> dict[str, jax.Array]:
    """The fields [..., t], and the history [..., n, t]."""
    lower = task_bounds(bound, sample, beta)
    n, there = sample.num_tasks, in_front(lower, sample.num_tasks)[..., None]
    violated = ~reached(lower, thresholds) & there
    counts = jnp.cumsum(violated, axis=-2, dtype=jnp.int32).astype(lower.dtype)
    places = jax.lax.broadcasted_iota(lower.dtype, counts.shape, counts.ndim - 2) + 1
    risk = anytime_risk(counts, places, delta, *prior)
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), counts.shape)
    moments = jnp.where(bad_threshold | ~there, 1.0, inflate(risk, beta))
    history = jax.lax.cummin(moments, axis=counts.ndim - 2)
    epsilon, violations = history[..., -1, :], counts[..., -1, :].astype(jnp.int32)
    invalid = any_of(jnp.isneginf(lower), n) | bad_threshold[..., -1, :] | bad_levels(beta, delta)
    return {
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": n - violations,
        "status": status_of(BINOMIAL, epsilon, jnp.ones(epsilon.shape, bool), invalid, beta, delta, n),
        "history": history,
        "lower_bounds": lower,
        "prior": jnp.stack(prior),
    }


def _curve(certificate: AnytimeCertificate, lower_bounds: chex.Array, levels: np.ndarray) -> AnytimeCertificate:
    numbers = sample_of_numbers(jnp.asarray(lower_bounds)), jnp.asarray(levels)
    prior = certificate.prior[0], certificate.prior[1]
    return certify_in_order(certificate.bound, None, *numbers, certificate.beta, certificate.delta, prior)


# --- where a file was written by other lower bounds ----------------------------------------------------------------

# Numbers of violations at all moments, each of which is a root to find.
_MOST = 100_000


def counted_as_stated(
    certificate: Any, sure: np.ndarray, near: np.ndarray, below: int, stated: float, rounding: float
) -> np.ndarray | None:
    """So many (``below``) of the tasks ``near`` that the smallest risk of all moments is the stated one, or None.

    Unlike a certificate of all tasks, this one depends on which of them are violations beside the ``sure`` ones, since
    each moment has its own count. Sets of tasks are not tried: a way through the counts of all moments is looked for,
    on which no risk is smaller than stated and one is equal, up to the relative rounding. What is found is no better
    than what is certified here of a threshold that is lower by rounding, where none of these tasks is a violation.
    """
    choices = np.arange(below + 1)
    if sure.size * choices.size > _MOST:
        return None
    places = np.arange(1, sure.size + 1)
    counts = np.minimum(np.cumsum(sure)[:, None] + choices, places[:, None])
    levels: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta}
    prior = certificate.prior[0], certificate.prior[1]
    risks = np.asarray(anytime_epsilon(counts, places[:, None], prior=prior, **levels), np.float64)
    room = rounding * risks
    is_near = np.isin(np.arange(sure.size), near)
    return _way(is_near, below, risks >= stated - room, np.abs(risks - stated) <= room)


def _way(near: np.ndarray, below: int, allowed: np.ndarray, equal: np.ndarray) -> np.ndarray | None:
    """The tasks of a way from no violation to ``below``, through what is allowed and over what is equal [n, counts]."""
    # By the count and whether a moment was equal: the tasks so far, the last one in front.
    ways: dict[tuple[int, bool], tuple] = {(0, False): ()}
    for i in range(near.size):
        before, ways = ways, {}
        for (count, found), tasks in before.items():
            for more in range(min(int(near[i]), below - count) + 1):
                if allowed[i, count + more]:
                    state = count + more, bool(found or equal[i, count + more])
                    ways.setdefault(state, (i, tasks) if more else tasks)
    if (below, True) not in ways:
        return None
    chosen, rest = [], ways[below, True]
    while rest:
        chosen.append(rest[0])
        rest = rest[1]
    return np.asarray(chosen[::-1], int)


ANYTIME = Question(
    name="anytime",
    words="on what share of new tasks is the performance at least a threshold, at every moment of the sampling?",
    function=certify_anytime,
    paired=True,
    certificate=AnytimeCertificate,
    settings=same("delta", "beta", "bound", "prior"),
    options=(Option("prior", list, "Two numbers of the mixture over risks", check=check_prior),),
    curve=_curve,
    missing=missing_of_counts,
)
