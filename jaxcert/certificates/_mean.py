"""The mean performance over tasks."""

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, Ends, finish
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._evaluate import lower_bounds, task_shape
from jaxcert.bounds._padding import Tasks, padded, tasks_there
from jaxcert.certificates._certificate import quantity_of
from jaxcert.certificates._mean_certificate import (
    MeanCertificate,
    mean_of_trials,
    mean_status,
    prepare_averages,
    task_averages,
)
from jaxcert.certificates._question import Question, same
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns.summaries import Summary


def certify_mean(
    returns: chex.Array | Summary,
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
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks, or a summary of them; as in
            ``certify``.
        support: (a, b), as in ``certify``; b may be infinite for "betting".
        delta: failure probability, in (0, 1); a scalar.
        bound: "betting" or "hoeffding": over tasks whose averages may be of unequal numbers of rollouts. Or
            "clopper_pearson", which is exact, for one trial per task that succeeds or not: the default for an array of
            bool [..., n, 1], as "betting" is for others.
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

    Reference: the page on means and tails, equation (1).
    """
    chosen, prepared = prepare_averages(bound, returns, support, where, validate)
    delta = probability("delta", delta, prepared.low.dtype, "down", validate=validate, scalar=True)
    fields = _mean_of_trials(prepared, delta) if chosen is CLOPPER_PEARSON else _mean(chosen, prepared, delta)
    settings = {"num_tasks": task_shape(prepared)[-1], "bound": chosen.name}
    settings["quantity"] = quantity_of(chosen.name, returns)
    return MeanCertificate(**fields, delta=delta, **settings)


def _mean_of_trials(prepared: Prepared, delta: jax.Array) -> dict:
    mean, low = mean_of_trials(prepared, delta), prepared.low
    return {"mean": mean, **_whole(low), "status": mean_status(mean, low)}


def _whole(like: jax.Array) -> dict:
    return {"alpha": jnp.ones_like(like), "cap": jnp.full_like(like, jnp.inf)}


def _mean(bound: Bound, prepared: Prepared, delta: jax.Array) -> dict:
    averages, valid = _averages(padded(prepared))
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
    settings=same("delta", "bound"),
)
