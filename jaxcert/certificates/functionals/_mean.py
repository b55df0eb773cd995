"""The mean performance over tasks."""

import functools

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._bound import Bound, Ends, finish
from jaxcert.bounds._evaluate import task_shape
from jaxcert.certificates.functionals._mean_certificate import MeanCertificate, mean_status
from jaxcert.certificates.functionals._task_averages import mean_over_tasks, prepare_averages, task_averages
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns.summaries import Summary


def certify_mean(
    returns: chex.Array | Summary,
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    bound: str = "betting",
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
        bound: "betting" or "hoeffding": over tasks whose averages may be of unequal numbers of rollouts.
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
    fields, n = _mean(chosen, prepared, delta), task_shape(prepared)[-1]
    return MeanCertificate(**fields, delta=delta, num_tasks=n, bound=bound, quantity="expected return")


@functools.partial(jax.jit, static_argnums=0)
def _mean(bound: Bound, prepared: Prepared, delta: jax.Array) -> dict:
    low, (excess, width, valid) = prepared.low, task_averages(prepared)
    lower = mean_over_tasks(bound, excess, delta, jnp.zeros_like(low), width)
    mean = finish(lower, Ends(low, (lower >= 0) & jnp.all(valid, axis=-1)))
    whole, uncapped = jnp.ones_like(low), jnp.full_like(low, jnp.inf)
    return {"mean": mean, "alpha": whole, "cap": uncapped, "status": mean_status(mean, low)}
