"""Certificates that hold at every moment: from returns, in the order of their tasks."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.certificates._anytime_epsilon import Prior, anytime_risk, check_prior, prepare_prior
from jaxcert.certificates._arguments import bound_for, levels_of, refuse_choice, thresholds_of
from jaxcert.certificates._batch_axes import along, answer, padded_rows
from jaxcert.certificates._binomial import BINOMIAL, inflate
from jaxcert.certificates._certificate import Certificate, about, quantity_of
from jaxcert.certificates._counted_tasks import counted_as_stated, missing_of_counts
from jaxcert.certificates._counting import any_neginf, bad_levels, bounds_of, status_of
from jaxcert.certificates._question import Option, Question, same
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, as_successes, probability
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
        support: (a, b), as in ``certify``.
        delta: failure probability of the certificates at one threshold, at all moments together, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1); a scalar. 0.05 by default.
        bound: as in ``certify``.
        prior: (alpha, gamma) of the mixture, as in ``anytime_epsilon``; two scalars.
        where: as in ``certify``.
        validate: as in ``certify``.

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
    returns = as_successes(returns, support, where, bound)
    per_task = bound_for(bound, returns)
    refuse_choice(beta, "a number, or None for 0.05")
    # A search for each task.
    sample = sample_of(per_task.needs._replace(costly=True), returns, support, where, validate)
    rows = thresholds_of(sample, thresholds, validate)
    prior = prepare_prior(prior, sample.dtype, validate)
    if np.ndim(prior[0]) or np.ndim(prior[1]):
        raise ValueError(f"prior has shapes {np.shape(prior[0])} and {np.shape(prior[1])}; expected scalars")
    delta, beta = levels_of(BINOMIAL, delta, beta, sample, validate)
    return about(certify_in_order(per_task.name, per_task, sample, rows, beta, delta, prior), returns)


def certify_in_order(
    name: str, bound: Bound | None, sample: Sample, thresholds: Any, beta: Any, delta: Any, prior: tuple[Any, Any]
) -> AnytimeCertificate:
    """From ``bounds_of`` a sample, by the name of the bound, in the order of the tasks, at thresholds [t]."""
    n, rows = int(sample.num_tasks), padded_rows(thresholds, sample, 1)
    fields = _in_order(bound, *placed((sample, rows, beta, delta, prior)))
    settings = {"num_tasks": n, "bound": name, "method": "anytime", "quantity": quantity_of(name)}
    fields |= {"thresholds": rows, "beta": beta, "delta": delta}
    return answer(AnytimeCertificate, fields, {"task": n, "threshold": len(thresholds)}, **settings)


@functools.partial(jax.jit, static_argnums=0)
def _in_order(bound: Bound | None, sample: Sample, thresholds, beta, delta, prior) -> dict[str, jax.Array]:
    """The fields [..., t], and the history [..., n, t]."""
    lower = bounds_of(bound, sample, beta)
    n, there = sample.num_tasks, in_front(lower, sample.num_tasks)[..., None]
    # A bound that is NaN is a violation.
    violated = ~(lower[..., :, None] >= thresholds.reshape((1,) * lower.ndim + thresholds.shape)) & there
    counts = jnp.cumsum(violated, axis=-2, dtype=jnp.int32).astype(lower.dtype)
    places = jax.lax.broadcasted_iota(lower.dtype, counts.shape, counts.ndim - 2) + 1
    risk = anytime_risk(counts, places, delta, *prior)
    bad_threshold = jnp.broadcast_to(~jnp.isfinite(thresholds), counts.shape)
    moments = jnp.where(bad_threshold | ~there, 1.0, inflate(risk, beta))
    history = jax.lax.cummin(moments, axis=counts.ndim - 2)
    epsilon, violations = history[..., -1, :], counts[..., -1, :].astype(jnp.int32)
    invalid = any_neginf(lower, n) | bad_threshold[..., -1, :] | bad_levels(beta, delta)
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
