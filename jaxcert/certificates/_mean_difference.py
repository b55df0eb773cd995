"""The difference between the mean performances of two policies."""

import chex

from jaxcert.certificates._arguments import choose
from jaxcert.certificates._averages import OVER_TASKS
from jaxcert.certificates._certificate import quantity_of
from jaxcert.certificates._mean import certified_mean
from jaxcert.certificates._mean_certificate import MeanCertificate
from jaxcert.certificates._question import MEAN_ROWS, Question, same
from jaxcert.returns._differences import sample_apart
from jaxcert.returns._paired import paired
from jaxcert.returns._prepared import Support


def certify_mean_difference(
    returns_a: chex.Array,
    returns_b: chex.Array,
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    bound: str = "betting",
    where_a: chex.Array | None = None,
    where_b: chex.Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify by how much policy A is better than policy B on average over tasks.

    .. math:: P\big[\, E_{M \sim D}[J^A_M - J^B_M] \ge L(\bar X^A_1 - \bar X^B_1, \dots, \bar X^A_n - \bar X^B_n;
              \delta) \,\big] \ge 1 - \delta,

    one-sided, with L a lower bound on the mean of independent numbers in [a - b, b - a]. Both policies run on the same
    tasks, so that how hard a task is cancels; how many rollouts each has is free. Swap the arguments for the other
    side.

    Args:
        returns_a: float[..., n, m_a], m_a rollouts of policy A on each of n i.i.d. tasks; as in ``certify``.
        returns_b: float[..., n, m_b], rollouts of policy B on the same tasks in the same order. Within a task they may
            share their randomness with the rollouts of A, which often makes the difference vary less.
        support: (a, b), both finite, declared before the data are seen; every return of both lies in it. For arrays
            of bool it is (0, 1).
        delta: failure probability, in (0, 1); a scalar.
        bound: "betting" or "hoeffding", as in ``certify_mean``.
        where_a: bool[..., n, m_a], which rollouts of A count, fixed before the data are seen; all by default.
        where_b: the same for B.
        validate: as in ``certify_mean``; an invalid return of either policy gives -inf.

    The averages have to estimate J without a bias, as averages over whole episodes do: a truncated return that only
    bounds an infinite one from below (theory page, section 1.2) is not enough for B.

    Returns:
        A ``MeanCertificate`` of the difference with arrays [...].

    Raises:
        ValueError: for invalid shapes, names or values, as ``certify``, with the name of the policy's argument; for
            tasks that do not match, a support that is not finite, or a summary.

    Example:
        >>> import jaxcert
        >>> better = jaxcert.sample_returns("cheetah")
        >>> worse = 0.9 * better[:, :20]
        >>> found = certify_mean_difference(better, worse, support=(0, 1000), delta=0.01)
        >>> print(f"better by {found.mean:.1f} on average")
        better by 56.0 on average

    Reference: the theory page, section 18; its equation (18.2).
    """
    chosen = choose("bound", bound, OVER_TASKS)
    pairs = paired(returns_a, returns_b, where_a=where_a, where_b=where_b)
    sample = sample_apart(chosen.needs, pairs, support, validate)
    quantity = quantity_of(bound, pairs)
    return certified_mean(chosen, sample, delta, validate, quantity=quantity, question="mean_difference")


MEAN_DIFFERENCE = Question(
    name="mean_difference",
    words="by how much is policy A better than policy B on average over new tasks, at least?",
    function=certify_mean_difference,
    certificate=MeanCertificate,
    rows=MEAN_ROWS,
    each=None,
    settings=same("delta", "bound"),
    shortcut="mean",
)
