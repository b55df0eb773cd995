"""The share of new tasks on which one policy is better than another."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import chex
import jax
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.certificates._arguments import choose, choose_bound, prepare_thresholds, warn_outside
from jaxcert.certificates._both_policies import of_each, side_by_side
from jaxcert.certificates._certificate import Certificate, difference_of, fields_of
from jaxcert.certificates._certify import certify_sample, curve_of_counts
from jaxcert.certificates._method import Method
from jaxcert.certificates._question import COUNTED, Option, Question, Rows, same
from jaxcert.certificates._registry import METHODS, warned
from jaxcert.returns._differences import differences_of, policies_of
from jaxcert.returns._prepared import Support

# Differences of successes are no successes.
_OF_DIFFERENCES = {name: method for name, method in METHODS.items() if not method.counts_successes}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ImprovementCertificate(Certificate):
    """A ``Certificate`` of the difference between two policies in place of a performance.

    The thresholds are the margins, ``lower_bounds`` are those on the difference of the two expected returns in each
    task. At each margin c: on a new task from the same distribution, policy A's expected return exceeds policy B's by
    at least c, with probability at least ``safety``.

    Attributes:
        question: which of ``jaxcert.questions`` it answers, by name (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_improvement
        >>> a, b = 0.9 * jnp.ones((200, 60)), 0.5 * jnp.ones((200, 30))
        >>> print(certify_improvement(a, b, 0.2, support=(0, 1), delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        the expected return of policy A minus that of policy B is at least 0.2 with probability at least 0.9760.
    """

    question: str = dataclasses.field(default="improvement", kw_only=True, metadata={"static": True})


def certify_improvement(
    returns_a: chex.Array,
    returns_b: chex.Array,
    margins: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | Literal["auto"] | None = None,
    bound: str = "betting",
    method: str = "binomial",
    where_a: chex.Array | None = None,
    where_b: chex.Array | None = None,
    validate: bool = True,
) -> ImprovementCertificate:
    r"""Certify on what share of new tasks policy A is better than policy B by a margin.

    At each margin c, fixed before the data are seen (0: at least as good):

    .. math:: P\big[\, P_{M \sim D}[J^A_M - J^B_M \ge c] \ge 1 - \hat\varepsilon(c) \,\big] \ge 1 - \delta

    (one-sided). With as many rollouts of both (m_a = m_b), the bound is applied to the differences of rollouts j of
    either, in [a - b, b - a]. Otherwise the difference has at least a lower bound on A minus an upper bound on B, each
    at level beta / 2, which says a little less for the same number of rollouts, but uses all.

    Args:
        returns_a: float[..., n, m_a], rollouts of policy A, as in ``certify_mean_difference``.
        returns_b: float[..., n, m_b], rollouts of policy B on the same tasks. Rollouts j of both
            may share their randomness, but with no other.
        margins: float[t], or a scalar for one; wanted differences c.
        support: (a, b), both finite, or None for two arrays of bool, as in ``certify_mean_difference``.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: as in ``certify``.
        bound: as in ``certify``, but for "clopper_pearson": differences are not binary.
        method: "binomial", "scenario" or "soft", as in ``certify``; "soft" needs as many rollouts of both.
        where_a: bool[..., n, m_a], which rollouts of A count, fixed before the data are seen; all by default.
        where_b: the same for B. With m_a = m_b, rollout j counts if it does for both.
        validate: as in ``certify``.

    As for ``certify_mean_difference``, each return has to be one of a whole episode.

    Returns:
        An ``ImprovementCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``, with the name of the policy's argument; for tasks that do not match, a support that
            is not finite, a summary, or a task that is left without a pair.

    Warns:
        UserWarning: as ``certify``.

    Example:
        >>> import jaxcert
        >>> better = jaxcert.sample_returns("cheetah")
        >>> worse = 0.6 * better[:, ::-1]
        >>> print(certify_improvement(better, worse, 100.0, support=(0, 1000), delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        the expected return of policy A minus that of policy B is at least 100 with probability at least 0.9760.

    Reference: the theory page, section 18; its equation (18.1).
    """
    chosen, per_task = _chosen(method, bound)
    policies = policies_of(per_task.needs, returns_a, returns_b, support, where_a, where_b, validate)
    m_a, m_b = (int(one.num_rollouts) for one in policies)
    if m_a == m_b:
        sample = differences_of(per_task.needs, policies, validate)
    elif chosen.from_returns is not None:
        raise ValueError(f"returns_a have {m_a} rollouts per task and returns_b {m_b}; {method} needs as many of both")
    else:
        sample, per_task = side_by_side(policies, validate), of_each(per_task, policies.a.values.shape[-1])
    margins = prepare_thresholds(margins, sample.dtype, validate, name="margins")
    found = certify_sample(ImprovementCertificate, per_task, chosen, sample, margins, beta, delta, validate)
    warn_outside("margins", margins, (-sample.high, sample.high), validate)
    found = dataclasses.replace(found, quantity=difference_of(returns_a, returns_b))
    if validate:
        warned(found)
    return found


def _chosen(method: str, bound: str) -> tuple[Method, Bound]:
    chosen = choose("method", method, _OF_DIFFERENCES)
    per_task = choose_bound(bound, chosen)
    if per_task.binary:
        raise ValueError(f"bound is {bound!r}, which is for binary returns; differences of them are not binary")
    return chosen, per_task


def _curve(
    certificate: ImprovementCertificate, lower_bounds: chex.Array, margins: np.ndarray
) -> ImprovementCertificate:
    found = curve_of_counts(certificate, lower_bounds, margins)
    return ImprovementCertificate(**{**fields_of(found), "quantity": certificate.quantity})


IMPROVEMENT = Question(
    name="improvement",
    words="on what share of new tasks is policy A better than policy B by a margin?",
    function=certify_improvement,
    certificate=ImprovementCertificate,
    rows=Rows(
        {"margin": "thresholds", **{name: field for name, field in COUNTED.items() if name != "threshold"}},
        claims={"safety": min, "margin": min},
    ),
    each="margin",
    settings=same("delta", "beta", "bound", "method"),
    options=(Option("margin", list, "By how much A is to be better; 0: at least as good", True),),
    advised=True,
    curve=_curve,
)
