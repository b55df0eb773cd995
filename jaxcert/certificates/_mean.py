"""The mean performance over tasks."""

import functools

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, Ends, finish
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import lower_bounds
from jaxcert.bounds._padding import Tasks, padded, tasks_there
from jaxcert.bounds._prepare_array import task_shape
from jaxcert.certificates._certificate import REWEIGHTED, quantity_of
from jaxcert.certificates._mean_certificate import (
    MeanCertificate,
    check_task_sums,
    mean_of_trials,
    mean_status,
    prepare_averages,
    task_averages,
    weighted_capped_mean,
)
from jaxcert.certificates._question import Question, same
from jaxcert.certificates._task_weights import prepare_weights
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns._sample import Paired, Weighted
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
    sample, of_weights = (returns.returns, returns) if isinstance(returns, Weighted) else (returns, None)
    chosen, prepared = prepare_averages(bound, sample, support, where, validate, weighted=of_weights is not None)
    tasks, dtype = task_shape(prepared), prepared.low.dtype
    delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    settings = {
        "num_tasks": tasks[-1],
        "bound": chosen.name,
        "quantity": quantity_of(chosen.name, sample),
        "question": "mean",
    }
    if of_weights is not None:
        weights, largest = prepare_weights(of_weights, tasks, dtype, validate)
        fields = _mean_of_weighted(chosen, prepared, weights, largest, delta)
        return MeanCertificate(**fields, delta=delta, **settings, source=REWEIGHTED, max_weight=largest)
    fields = _mean_of_trials(prepared, delta) if chosen is CLOPPER_PEARSON else _mean(chosen, prepared, delta, validate)
    return MeanCertificate(**fields, delta=delta, **settings)


@functools.partial(jax.jit, static_argnums=0)
def _mean_of_weighted(bound: Bound, prepared: Prepared, weights, largest, delta) -> dict:
    """The mean up to the cap that every return is below."""
    low, (_, width, _) = prepared.low, task_averages(prepared)
    lower = weighted_capped_mean(bound, prepared, weights, largest, width[None], delta)[..., 0]
    mean = finish(lower, Ends(low, lower >= 0))
    return {"mean": mean, **_whole(low), "status": mean_status(mean, low)}


def _mean_of_trials(prepared: Prepared, delta: jax.Array) -> dict:
    mean, low = mean_of_trials(prepared, delta), prepared.low
    return {"mean": mean, **_whole(low), "status": mean_status(mean, low)}


def _whole(like: jax.Array) -> dict:
    return {"alpha": jnp.ones_like(like), "cap": jnp.full_like(like, jnp.inf)}


def _mean(bound: Bound, prepared: Prepared, delta: jax.Array, validate: bool) -> dict:
    averages, valid = _averages(padded(prepared))
    if validate:
        check_task_sums(lambda: averages.returns, task_shape(prepared)[-1], prepared.low, prepared.high)
    there = tasks_there(Tasks(valid, task_shape(prepared)[-1]))
    return _fields(lower_bounds(bound, averages._replace(where=there), delta), valid, there, prepared.low)


@jax.jit
def _averages(prepared: Prepared) -> tuple[Prepared, jax.Array]:
    """The averages of the tasks with their support, and the valid tasks."""
    excess, width, valid = task_averages(prepared)
    return Prepared(excess, jnp.zeros_like(width), width, None), valid


@jax.jit
def _fields(lower: jax.Array, valid: jax.Array, there: jax.Array | None, low: jax.Array) -> dict:
    valid = valid if there is None else valid | ~there
    mean = finish(lower, Ends(low, (lower >= 0) & jnp.all(valid, axis=-1)))
    return {"mean": mean, **_whole(low), "status": mean_status(mean, low)}


MEAN = Question(
    name="mean",
    words="what is the mean performance over new tasks at least?",
    function=certify_mean,
    certificate=MeanCertificate,
    columns={"mean": "mean", "status": "status"},
    certified="mean",
    claims={"mean": min},
    risks={},
    each=None,
    fixed=None,
    shortcut="mean",
    settings=same("delta", "bound"),
)
