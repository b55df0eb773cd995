"""The share of new tasks on which one policy is better than another."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import chex

from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._certify import certified, curve_of_counts
from jaxcert.certificates._question import COUNTED, Option, Question, Rows, same
from jaxcert.returns._paired import paired
from jaxcert.returns._prepared import Support


def certify_improvement(
    returns_a: chex.Array,
    returns_b: chex.Array,
    margins: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str = "binomial",
    where_a: chex.Array | None = None,
    where_b: chex.Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify on what share of new tasks policy A is better than policy B by a margin.

    At each margin c, fixed before the data are seen (0: at least as good):

    .. math:: P\big[\, P_{M \sim D}[J^A_M - J^B_M \ge c] \ge 1 - \hat\varepsilon(c) \,\big] \ge 1 - \delta

    (one-sided): ``certify`` of the two policies, ``paired``. With as many rollouts of both (m_a = m_b), the bound is
    applied to the differences of rollouts j of either, in [a - b, b - a]. Otherwise the difference has at least a lower
    bound on A minus an upper bound on B, each at level beta / 2, which says a little less for the same number of
    rollouts, but uses all.

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
        A ``Certificate`` of the difference with arrays [..., t]: its thresholds are the margins, and its
        ``lower_bounds`` those on the difference of the two expected returns in each task.

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
    pairs = paired(returns_a, returns_b, where_a=where_a, where_b=where_b)
    settings = {"support": support, "delta": delta, "beta": beta, "bound": bound, "method": method}
    found = certified(pairs, margins, **settings, validate=validate, name="margins")
    return dataclasses.replace(found, question="improvement")


IMPROVEMENT = Question(
    name="improvement",
    words="on what share of new tasks is policy A better than policy B by a margin?",
    function=certify_improvement,
    certificate=Certificate,
    rows=Rows(
        {"margin": "thresholds", **{name: field for name, field in COUNTED.items() if name != "threshold"}},
        claims={"safety": min, "margin": min},
    ),
    each="margin",
    settings=same("delta", "beta", "bound", "method"),
    options=(Option("margin", list, "By how much A is to be better; 0: at least as good", True),),
    advised=True,
    curve=curve_of_counts,
)
