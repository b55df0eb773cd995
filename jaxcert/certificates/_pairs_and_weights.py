"""Two policies on the same tasks, by their shares of new tasks and on average; tasks with weights, or from strata."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_finite, is_concrete
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._certify import certify, curve_of_counts
from jaxcert.certificates._episode import MEAN_IN_A_ROW, all_in_a_row
from jaxcert.certificates._mean import MeanCertificate, certify_mean
from jaxcert.certificates._question import COUNTED, FREQUENCIES, MEAN_ROWS, Option, Question, Rows
from jaxcert.certificates._registry import Returns
from jaxcert.returns._paired import paired
from jaxcert.returns._prepared import Support
from jaxcert.returns._strata import stratified
from jaxcert.returns._weighted import check_largest, weighted


def certify_improvement(
    returns_a: Array,
    returns_b: Array,
    margins: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str = "binomial",
    where_a: Array | None = None,
    where_b: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify on what share of new tasks policy A is better than policy B by a margin.

    At each margin c, fixed before the data are seen (0: at least as good):

    .. math:: P\big[\, P_{M \sim D}[J^A_M - J^B_M \ge c] \ge 1 - \hat\varepsilon(c) \,\big] \ge 1 - \delta

    (one-sided): ``certify`` of the two policies, ``paired``. With as many rollouts of both (m_a = m_b), the bound is
    applied to the differences of rollouts j of either, in [a - b, b - a]. Otherwise the difference is bounded by a
    lower bound on A minus an upper bound on B, each at level beta / 2. This certifies a little less for the same number
    of rollouts, but uses all of them.

    Args:
        returns_a, returns_b, support: as in ``certify_mean_difference``, each return of a whole episode. Rollout j of A
            and rollout j of B may share their randomness, but not with other rollouts.
        margins: float[t], or a scalar for one; wanted differences c.
        delta, beta, validate: as in ``certify``, with the same warnings.
        bound: as in ``certify``, but for "clopper_pearson": differences are not binary.
        method: "binomial", "scenario" or "soft", as in ``certify``; "soft" needs as many rollouts of both.
        where_a, where_b: as in ``certify_mean_difference``. With m_a = m_b, rollout j counts if it does for both.

    Returns:
        A ``Certificate`` of the difference with arrays [..., t]: its thresholds are the margins, and its
        ``lower_bounds`` those on the difference of the two expected returns in each task.

    Raises:
        ValueError: as ``certify_mean_difference``, or for a task that is left without a pair.

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
    settings: dict[str, Any] = {"support": support, "delta": delta, "beta": beta, "bound": bound, "method": method}
    if validate and is_concrete(margins):
        check_finite("margins", margins)
    found = certify(pairs, margins, **settings, validate=validate)
    return dataclasses.replace(found, question="improvement")


IMPROVEMENT = Question(
    name="improvement",
    words="on what share of new tasks is policy A better than policy B by a margin?",
    function=certify_improvement,
    rows=Rows(
        {"margin": "thresholds", **{name: field for name, field in COUNTED.items() if name != "threshold"}},
        claims={"safety": min, "margin": min},
    ),
    each="margin",
    options=(Option("margin", list, "By how much A is to be better; 0: at least as good", True),),
    advised=True,
    curve=curve_of_counts,
)


def certify_mean_difference(
    returns_a: Array,
    returns_b: Array,
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str = "betting",
    num_episodes: int = 1,
    where_a: Array | None = None,
    where_b: Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify by how much policy A is better than policy B on average over tasks.

    .. math:: P\big[\, E_{M \sim D}[J^A_M - J^B_M] \ge L(\bar X^A_1 - \bar X^B_1, \dots, \bar X^A_n - \bar X^B_n;
              \delta) \,\big] \ge 1 - \delta,

    one-sided: ``certify_mean`` of the two policies, ``paired``, with L a lower bound on the mean of independent numbers
    in [a - b, b - a]. Both policies run on the same tasks, so that how hard a task is cancels; how many rollouts each
    has is free. Swap the arguments for the other side.

    Args:
        returns_a: float[..., n, m_a], m_a rollouts of policy A on each of n i.i.d. tasks; as in ``certify``.
        returns_b: float[..., n, m_b], rollouts of policy B on the same tasks in the same order. Within a task they may
            share their randomness with the rollouts of A, which often makes the difference vary less.
        support: (a, b), both finite, declared before the data are seen; every return of both lies in it. For
            successes of both it is (0, 1).
        delta: failure probability, in (0, 1); a scalar.
        bound: "betting" or "hoeffding", as in ``certify_mean``.
        num_episodes: k. Above 1, for successes of both, it compares the probabilities that k trials in a row on a task
            all succeed (pass^k). The choices of k of its rollouts estimate them, so each task needs at least k.
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
    pairs = paired(returns_a, returns_b, where_a=where_a, where_b=where_b)
    if several := all_in_a_row(num_episodes, pairs, support, None, validate):
        pairs, support = several[0], (0, 1)
    found = certify_mean(pairs, support=support, delta=delta, bound=bound, validate=validate)
    quantity = several[1] if several else found.quantity
    return dataclasses.replace(found, question="mean_difference", num_episodes=num_episodes, quantity=quantity)


MEAN_DIFFERENCE = Question(
    name="mean_difference",
    words="by how much is policy A better than policy B on average over new tasks, at least?",
    function=certify_mean_difference,
    rows=MEAN_ROWS,
    each=None,
    options=(MEAN_IN_A_ROW,),
    shortcut="mean",
)


def certify_weighted(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric],
    weights: Array,
    *,
    support: Support | None = None,
    max_weight: Numeric,
    delta: Numeric,
    beta: Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy for tasks from D', from its returns on tasks sampled from D.

    With the density ratio w = dD'/dD of each sampled task and a bound on it, :math:`\Lambda`, at each threshold B,
    fixed before the data are seen:

    .. math:: P\big[\, P_{M \sim D'}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta, \qquad
              \hat\varepsilon = \frac{\Lambda}{1 - \beta} \Big( 1 - L\Big(1 - \frac{w_1}{\Lambda} (1 - s_1), \dots,
              1 - \frac{w_n}{\Lambda} (1 - s_n); \delta\Big) \Big),

    at most 1, over the n sampled tasks and their rollouts together (one-sided). s says how far a task is known to have
    J >= B: 1 if its lower bound at level beta is at least B and 0 otherwise ("binomial"), or min(1, beta E) with the
    evidence E of ``certify(method="soft")``. Successes count as in ``certify(method="attained")``: s is 1 if a task has
    enough of them, and beta the probability of so many at J = B. L is the betting lower bound on the mean of numbers in
    [0, 1].

    Args:
        returns: float[..., n, m], as in ``certify``, on tasks from D; or a summary, for "binomial"; or ``paired``.
        thresholds, support, delta, where: as in ``certify``, with the same warnings.
        weights: w, float[n] or float[..., n], the ratio of normalised densities, or any larger number. A function of
            the task alone, which ``task_weights`` computes from two distributions.
        max_weight: Lambda >= 1, what no task's weight exceeds, proved beforehand: the largest weight that was seen is
            not enough. A scalar.
        beta, bound: as in ``certify``, but for a beta of "auto" with "binomial".
        method: "attained", the default for an array of bool; "binomial", the default for others; or "soft", for one to
            five rollouts per task.
        validate: as in ``certify``. A task without a bound counts against the certificate with its weight. With a
            single weight that is negative, NaN (as ``task_weights`` gives where the sampled density is 0) or above
            max_weight, or an invalid max_weight, nothing is certified: a larger weight refutes the declared bound,
            which unseen tasks may exceed, too. Whether the mean of the weights is near 1 is tested only if they are
            concrete; a mean as far from 1 as is refused has a probability below 1e-9.

    Returns:
        A ``Certificate`` with arrays [..., t], whose ``source`` is "reweighted" and ``method`` begins with "weighted_".
        Its ``num_violations`` and ``num_valid`` count sampled tasks, without their weights; ``lower_bounds`` are -inf
        for a task with invalid returns or an invalid weight.

    Raises:
        ValueError: as ``certify``; for weights that are negative, NaN, above max_weight, of another shape than the
            tasks, or whose mean shows that they are no density ratio; for a max_weight below 1 or not finite.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> weights = np.where(np.arange(200) % 2, 0.5, 1.5)  # every second kind of task three times as frequent
        >>> print(certify_weighted(returns, 400.0, weights, max_weight=1.5, support=(0, 1000), delta=0.01))
        With confidence 0.99: on a new task from the reweighted distribution,
        the expected return is at least 400 with probability at least 0.9640.

    Reference: the theory page, section 20; its equation (20.2).
    """
    sample = weighted(returns, weights, max_weight=max_weight)
    settings = {"support": support, "delta": delta, "beta": beta, "bound": bound, "method": method, "where": where}
    return certify(sample, thresholds, **settings, validate=validate)


WEIGHTED = Question(
    name="weighted",
    words="on what share of new tasks from another distribution, of known density ratio, is it at least a threshold?",
    function=certify_weighted,
    options=(Option("max_weight", float, "What no weight exceeds", True, check=check_largest),),
)


def certify_stratified(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric],
    *,
    strata: Sequence[Any],
    frequencies: Mapping[Any, float] | Sequence[str] | None = None,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy on new tasks from several strata, from tasks that were drawn within each of them.

    At each threshold B, fixed before the data are seen, with n_h tasks from stratum h and its frequency w_h:

    .. math:: P\big[\, \textstyle\sum_h w_h P_{M \sim D_h}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta,

    over the sampled tasks and their rollouts together (one-sided). With n_h = n w_h, epsilon is the same as in
    ``certify``. Otherwise each task has the weight n w_h / n_h, as in ``certify_weighted``, which certifies less.

    Args:
        returns: float[..., n, m], as in ``certify``. The tasks of a stratum are independent draws from it, as many as
            were fixed beforehand.
        thresholds, support, bound, method: as in ``certify`` of ``weighted`` returns, with the same warnings.
        strata: the label of each task's stratum, [n]; as in ``stratified``.
        frequencies: w_h of each stratum, by its label, 1 together; by default as in the sample.
        delta: failure probability of each certificate, in (0, 1); at most 1/4 where n_h = n w_h; a scalar.
        beta: as in ``certify``, but for "auto" with "binomial".
        where: bool[..., n, m], which rollouts count, as in ``certify``. Successes of tasks with different numbers of
            rollouts are counted with weights in any case.
        validate: as in ``certify``. With n_h = n w_h, a delta above 1/4 that is traced counts as 1/4.

    Returns:
        A ``Certificate`` with arrays [..., t], whose ``source`` names the strata.

    Raises:
        ValueError: as ``certify`` and ``stratified``; for a known delta above 1/4 where n_h = n w_h.

    Example:
        >>> import numpy as np
        >>> passed = np.random.default_rng(0).random((60, 10)) < 0.9
        >>> kinds = np.repeat(["push", "pick", "open"], 20)
        >>> print(certify_stratified(passed, 0.6, strata=kinds, delta=0.05))
        With confidence 0.95: on a new task from push, pick or open, each as likely,
        the probability of success is at least 0.6 with probability at least 0.7913.

    Reference: the theory page, section 20.4.
    """
    sample = stratified(returns, strata, frequencies=frequencies)
    settings = {"support": support, "delta": delta, "beta": beta, "bound": bound, "method": method, "where": where}
    return certify(sample, thresholds, **settings, validate=validate)


STRATIFIED = Question(
    name="stratified",
    words="on what share of new tasks from several strata is the performance at least a threshold?",
    function=certify_stratified,
    options=(FREQUENCIES,),
    paired=True,
    advised=True,
)
