"""The safety of a policy on new tasks from several strata, from tasks that were drawn within each of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import chex

from jaxcert.certificates._arguments import Returns
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._certify import certified
from jaxcert.certificates._question import Option, Question, same
from jaxcert.returns._prepared import Support
from jaxcert.returns._strata import frequencies_of, stratified


def certify_stratified(
    returns: Returns,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    strata: Sequence[Any],
    frequencies: Mapping[Any, float] | Sequence[str] | None = None,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy on new tasks from several strata, from tasks that were drawn within each of them.

    At each threshold B, fixed before the data are seen, with n_h tasks from stratum h and its frequency w_h:

    .. math:: P\big[\, \textstyle\sum_h w_h P_{M \sim D_h}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta,

    over the sampled tasks and their rollouts together (one-sided). With n_h = n w_h, epsilon is that of ``certify``;
    else each task counts with the weight n w_h / n_h, as in ``certify_weighted``, which says less.

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
    return certified(sample, thresholds, **settings, validate=validate)


STRATIFIED = Question(
    name="stratified",
    words="on what share of new tasks from several strata is the performance at least a threshold?",
    function=certify_stratified,
    settings=same("delta", "beta", "bound", "method", "frequencies"),
    options=(
        Option(
            "frequencies",
            tuple,
            "How frequent the tasks of a stratum are in deployment, as push=0.5; by default as in the sample",
            flag="frequency",
            check=lambda _, value: frequencies_of(value),
        ),
    ),
    paired=True,
    advised=True,
)
