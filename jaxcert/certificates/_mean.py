"""The mean performance over tasks."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, Ends, finish
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._averages import (
    averages_of,
    bound_over_tasks,
    check_averages,
    mean_of_trials,
    mean_over_tasks,
    weighted_capped_mean,
)
from jaxcert.certificates._batch_axes import answer
from jaxcert.certificates._certificate import quantity_of
from jaxcert.certificates._headline import REWEIGHTED
from jaxcert.certificates._mean_certificate import MeanCertificate, mean_status
from jaxcert.certificates._question import MEAN_ROWS, Question, same
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import Sample, placed
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Summary


def certify_mean(
    returns: chex.Array | Summary | Paired | Weighted,
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    bound: str | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify the mean over tasks of a policy's expected return.

    .. math:: P\big[\, E_{M \sim D}[J_M] \ge L(\bar X_1, \dots, \bar X_n; \delta) \,\big] \ge 1 - \delta,

    one-sided, over the n sampled tasks and their rollouts together. The averages of the tasks are independent and lie
    in the support; L is a lower bound on the mean of such numbers. No level for single tasks is needed, and one rollout
    per task is enough to say something: what varies between tasks is averaged, too.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks, or a summary of them; two
            policies (``paired``) or tasks with weights (``weighted``); as in ``certify``.
        support: (a, b), as in ``certify``; b may be infinite for "betting", unless tasks have weights.
        delta: failure probability, in (0, 1); a scalar.
        bound: "betting" or "hoeffding", over tasks whose averages may be of unequal numbers of rollouts. Or
            "clopper_pearson", which is exact, for one trial per task that succeeds or not. It is the default for an
            array of bool [..., n, 1], "betting" for others.
        where: bool[..., n, m], which rollouts count, fixed before the data are seen; all by default.
        validate: as in ``certify``; values that cannot be checked fail closed: an invalid return or delta gives -inf,
            and the status says so. A return outside the support refutes it: the mean may then be below any number.

    Returns:
        A ``MeanCertificate`` with arrays [...].

    Raises:
        ValueError: for invalid shapes, names or values, as ``certify``.

    Example:
        >>> import jaxcert
        >>> found = certify_mean(jaxcert.sample_returns("cheetah"), support=(0, 1000), delta=0.01)
        >>> print(f"at least {found.mean:.1f} on average over tasks")
        at least 776.4 on average over tasks

    Reference: the theory page, equation (17.1); of weighted tasks (20.3).
    """
    chosen, sample = bound_over_tasks(bound, returns, support, where, validate)
    return certified_mean(chosen, sample, delta, validate, quantity_of(chosen.name, returns), "mean")


def certified_mean(
    bound: Bound, sample: Sample, delta: Any, validate: bool, quantity: str, question: str
) -> MeanCertificate:
    """``certify_mean`` of a sample; the quantity in words, and the question by name."""
    delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
    if validate and bound is not CLOPPER_PEARSON and sample.weights is None:
        check_averages(sample)
    fields = _mean(bound, *placed((sample, delta))) | {"delta": delta}
    settings: dict[str, Any] = {"num_tasks": int(sample.num_tasks), "bound": bound.name, "question": question}
    if sample.weights is not None:
        fields, settings = fields | {"max_weight": sample.weights.largest}, settings | {"source": REWEIGHTED}
    return answer(MeanCertificate, fields, {}, **settings, quantity=quantity)


@functools.partial(jax.jit, static_argnums=0)
def _mean(bound: Bound, sample: Sample, delta) -> dict[str, jax.Array]:
    low = jnp.asarray(sample.low)
    if bound.binary:
        return fields_of_mean(mean_of_trials(sample, delta), low)
    if sample.weights is not None:
        # Up to the cap that every return is below.
        lower = weighted_capped_mean(bound, sample, jnp.full(1, jnp.inf, low.dtype), delta)[..., 0]
        return fields_of_mean(finish(lower, Ends(low, lower >= 0)), low)
    excess, width, valid, there = averages_of(sample)
    lower = mean_over_tasks(bound, excess, delta, jnp.zeros_like(width), width, there if sample.padded else None)
    return fields_of_mean(finish(lower, Ends(low, (lower >= 0) & jnp.all(valid, axis=-1))), low)


def fields_of_mean(mean: jax.Array, least: jax.Array) -> dict[str, jax.Array]:
    """The fields of the mean over all tasks, -inf where input is invalid; ``least``: what it is at least."""
    one = jnp.ones_like(least)
    return {"mean": mean, "alpha": one, "cap": one * jnp.inf, "status": mean_status(mean, least)}


MEAN = Question(
    name="mean",
    words="what is the mean performance over new tasks at least?",
    function=certify_mean,
    certificate=MeanCertificate,
    rows=MEAN_ROWS,
    each=None,
    shortcut="mean",
    settings=same("delta", "bound"),
)
