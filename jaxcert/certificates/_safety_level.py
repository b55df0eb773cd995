"""The performance certified on a given share of new tasks."""

import functools
from collections.abc import Sequence

import chex
import jax
import jax.numpy as jnp

from jaxcert.bounds._evaluate import lower_bounds, prepare, task_shape
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import as_row, choose, warned
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import bad_levels, count_violations, status_of
from jaxcert.certificates._level_choice import refuse_choice
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._batches import counts_from_zero
from jaxcert.numerics._rounding import complement_down, complement_up
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns.summaries import Summary


def certify_safety_level(
    returns: chex.Array | Summary,
    safety: chex.Numeric | Sequence[float],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str = "betting",
    method: str = "binomial",
    where: chex.Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""The performance certified on a given share of new tasks: a tolerance limit.

    With k* the largest k at which 1 - epsilon(k) is at least the wanted safety s, and L_(i) the ordered lower bounds,

    .. math:: \hat B = \max(a, L_{(k^* + 1)}), \qquad P\big[\, P_{M \sim D}[J_M \ge \hat B] \ge s \,\big] \ge 1 - \delta

    (one-sided); a if there is no k*. Only s is fixed before the data are seen: no correction for looking at the curve.

    Args:
        returns: float[..., n, m], as in ``certify``.
        safety: s in (0, 1), a scalar, or float[t] for several, each a certificate of its own.
        support: (a, b), as in ``certify``.
        delta: failure probability, in (0, 1); a scalar.
        beta: as in ``certify``. By default, for "binomial", the largest value that costs nothing,
            1 - U(k*; n, delta)/(1 - s) with k* as at 0.05: 0.08 at n = 200, s = 0.9, delta = 0.01. If there is no k*
            at 0.05, the largest value with k* = 0. For several safeties, the smallest of theirs.
        bound: as in ``certify``.
        method: as in ``certify``, but for "soft", which has no lower bound per task.
        where: as in ``certify``.
        validate: as in ``certify``.

    Returns:
        A ``Certificate`` whose thresholds, [..., t], are the certified performances and whose safety is the wanted one;
        under a transformation, safety 0 where an argument or too many of the returns are invalid.

    Raises:
        ValueError: as ``certify``, and for a safety outside (0, 1).

    Example:
        >>> import jax.numpy as jnp
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify_safety_level(returns, 0.9, support=(0.0, 1.0), delta=0.01)
        >>> print(f"{certificate.thresholds[0]:.3f}")
        0.497

    Reference: the theory page, section on a fixed safety level.
    """
    per_task, chosen = choose("bound", bound, BOUNDS), choose("method", method, METHODS)
    refuse_choice(beta, "a number, or None for the largest level that costs nothing")
    prepared = prepare(per_task, returns, support, where, validate, certificate=True)
    dtype, n = prepared.low.dtype, task_shape(prepared)[-1]
    wanted = as_row("safety", probability("safety", safety, dtype, "up", validate=validate))
    checks = {"validate": validate, "scalar": True}
    delta, solution = probability("delta", delta, dtype, "down", **checks), None
    if beta is None and chosen.best_beta is not None:
        beta, solution = chosen.best_beta(n, delta, wanted)
    elif beta is None:
        beta = chosen.default_beta(delta, n)
    beta = probability("beta", beta, dtype, "nearest", **checks)
    lower = lower_bounds(per_task, prepared, beta)
    if solution is None:
        solution = chosen.solve(*counts_from_zero(n, lower, beta, delta), beta, delta)
    fields = _levels(chosen, wanted, lower, solution, beta, delta, prepared.low, prepared.high)
    settings = {"num_tasks": n, "bound": bound, "method": method}
    certificate = Certificate(**fields, lower_bounds=lower, beta=beta, delta=delta, **settings)
    return warned(certificate) if validate else certificate


@functools.partial(jax.jit, static_argnums=0)
def _levels(method: Method, wanted, lower, solution: Solution, beta, delta, low, high) -> dict:
    """The fields of certificates at the (k* + 1)-th smallest lower bound, from the solution for k = 0, 1, ..."""
    n = lower.shape[-1]
    epsilon, _, feasible = jax.tree.map(lambda column: column[:n], solution)
    count = good_enough(epsilon, wanted)
    chosen = jnp.take(jnp.sort(lower, axis=-1), jnp.maximum(count - 1, 0), axis=-1)
    wanted, count = jnp.broadcast_to(wanted, chosen.shape), jnp.broadcast_to(count, chosen.shape)
    bad_setting = bad_levels(beta, delta) | ~(jnp.isfinite(low) & (low < high)) | ~((wanted > 0) & (wanted < 1))
    bad_task = jnp.any(jnp.isneginf(lower), axis=-1, keepdims=True)
    # Without a k*, the lower end of the support is certified by definition, unless data contradict the support.
    holds = jnp.where(count > 0, jnp.isfinite(chosen), ~bad_task) & ~bad_setting
    reached = jnp.where(holds, jnp.where(count > 0, jnp.maximum(chosen, low), low), -jnp.inf)
    safety = jnp.where(holds, wanted, 0.0)
    violations = count_violations(lower, reached)
    says_something = jnp.where(holds & (reached > low), 0.0, 1.0).astype(lower.dtype)
    return {
        "thresholds": reached,
        "safety": safety,
        "epsilon": complement_up(safety),
        "num_violations": violations,
        "num_valid": n - violations,
        "status": status_of(method, says_something, feasible[0], bad_task | bad_setting, beta, delta, n),
    }


def good_enough(epsilon: jax.Array, wanted: jax.Array) -> jax.Array:
    """How many k, counted from 0, reach the wanted safety: k* + 1, [t]."""
    enough = complement_down(epsilon)[None, :] >= wanted[:, None]
    return jnp.sum(jnp.cumprod(enough, axis=-1, dtype=jnp.int32), axis=-1)
