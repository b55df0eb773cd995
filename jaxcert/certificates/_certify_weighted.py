"""Certified risk for tasks from another distribution, from weighted tasks of the sampled one."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.certificates._answer import answer, padded_rows
from jaxcert.certificates._arguments import (
    choose,
    choose_bound,
    planned_beta,
    prepare_levels,
    prepare_thresholds,
    refuse_choice,
    usual_beta,
    warn_outside,
)
from jaxcert.certificates._attained import ATTAINED, counted, least_risk
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate, about, quantity_of
from jaxcert.certificates._counting import any_neginf, count_violations, fields_of_solution
from jaxcert.certificates._headline import REWEIGHTED
from jaxcert.certificates._levels import numbers_for, risks_at_levels
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates._question import Option, Question, same
from jaxcert.certificates._registry import defaults
from jaxcert.certificates._soft import SOFT, evidence, least_evidence, shares
from jaxcert.certificates._task_weights import (
    Weights,
    check_largest,
    parts_of_largest,
    prepare_weights,
    weighted_mean,
)
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, unit_roundoff
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support
from jaxcert.returns._sample import Sample, placed, sample_of
from jaxcert.returns._weighted import Weighted, weighted
from jaxcert.returns.summaries import Summary


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class WeightedCertificate(Certificate):
    """A ``Certificate`` for new tasks from another distribution D', of known density ratio to the sampled one.

    ``epsilon``, ``safety`` and ``status`` are about D'. ``num_violations`` and ``num_valid`` count sampled tasks,
    without their weights; ``lower_bounds`` are -inf for a task with invalid returns or an invalid weight; with one
    of these, ``epsilon`` is 1. Its ``method`` is "weighted_" before the name of the method.

    Attributes:
        max_weight: what no weight exceeds, as declared, rounded up, a scalar.
        effective_size: so many tasks of equal weights would have a mean as steady: (sum w)^2 / (sum w^2) of the valid
            weights, float[...]; it is no part of the statement.
        question: which of ``jaxcert.questions`` it answers, by name (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_weighted
        >>> returns, weights = jnp.full((200, 100), 0.9), jnp.tile(jnp.asarray([0.5, 1.5]), 100)
        >>> print(certify_weighted(returns, 0.8, weights, max_weight=1.5, support=(0, 1), delta=0.01))
        With confidence 0.99: on a new task from the reweighted distribution,
        the expected return is at least 0.8 with probability at least 0.9640.
    """

    max_weight: jax.Array
    effective_size: jax.Array
    question: str = dataclasses.field(default="weighted", kw_only=True, metadata={"static": True})

    @property
    def _apart(self) -> str:
        return "reweighted tasks"

    @property
    def _source(self) -> str:
        return REWEIGHTED


# The methods that say how much a single task counts, which its weight multiplies.
_WEIGHTED = {method.name: method for method in (BINOMIAL, SOFT, ATTAINED)}


def certify_weighted(
    returns: chex.Array | Summary | Paired,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    weights: chex.Array,
    *,
    support: Support | None = None,
    max_weight: chex.Numeric,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> WeightedCertificate:
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
        thresholds: float[t], or a scalar for one; wanted expected returns B.
        weights: w, float[n] or float[..., n], the ratio of normalised densities, or any larger number. A function of
            the task alone, which ``task_weights`` computes from two distributions.
        support: (a, b), as in ``certify``.
        max_weight: Lambda >= 1, what no task's weight exceeds, proved beforehand: the largest weight that was seen is
            not enough. A scalar.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: failure probability of one lower bound, 0.05 by default; of "soft", the weight of the evidence, as in
            ``certify``; of "attained", what the level that is attained is at most: by default a few levels share delta.
        bound: the bound per task, as in ``certify``. Only the default for "soft" and "attained".
        method: "attained", the default for an array of bool; "binomial", the default for others, which counts lower
            bounds; or "soft", for one to five rollouts per task.
        where: bool[..., n, m], which rollouts count, as in ``certify``.
        validate: raise for invalid values that are concrete. Otherwise, and for traced values, they count against the
            certificate: returns as in ``certify``, a task without a bound with its weight. With a single weight that
            is negative, NaN or above max_weight, or an invalid max_weight, nothing is certified: a larger weight
            refutes the declared bound, which unseen tasks may exceed, too; a negative one or NaN is no density ratio
            (``task_weights`` may give NaN where the sampled density is 0). Whether the mean of the weights is near 1 is
            tested only if they are concrete; a mean as far from 1 as is refused has a probability below 1e-9.

    Returns:
        A ``WeightedCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``; for weights that are negative, NaN, above max_weight, of another shape than the
            tasks, or whose mean shows that they are no density ratio; for a max_weight below 1 or not finite.

    Warns:
        UserWarning: for thresholds outside the support, as ``certify``.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> weights = np.where(np.arange(200) % 2, 0.5, 1.5)  # every second kind of task three times as frequent
        >>> found = certify_weighted(returns, 400.0, weights, max_weight=1.5, support=(0, 1000), delta=0.01)
        >>> print(f"{found.safety[0]:.4f} with {found.effective_size:.0f} effective tasks")
        0.9641 with 160 effective tasks

    Reference: the theory page, section 20; its equation (20.2).
    """
    sample = weighted(returns, weights, max_weight=max_weight)
    settings = {"support": support, "delta": delta, "beta": beta, "bound": bound, "where": where}
    return certify_weighted_sample(sample, thresholds, **settings, method=method, validate=validate)


def certify_weighted_sample(
    weighted: Weighted,
    thresholds: Any,
    *,
    support: Any,
    delta: Any,
    beta: Any,
    bound: str | None,
    method: str | None,
    where: Any,
    validate: bool,
) -> WeightedCertificate:
    """``certify_weighted``, of returns with their weights."""
    returns = weighted.returns
    name = None if method is None else choose("method", method, _WEIGHTED).name
    bound, method = defaults(bound, name, returns)
    chosen = _WEIGHTED[method]
    per_task = choose_bound(bound, chosen)
    beta = usual_beta(chosen, beta)
    refuse_choice(beta, "a number, or None for the default")
    sample = sample_of(per_task.needs, returns, support, where, validate)
    n, dtype = int(sample.num_tasks), sample.dtype
    weights = prepare_weights(weighted, sample, validate)
    given, thresholds = thresholds, prepare_thresholds(thresholds, dtype, validate)
    warn_outside("thresholds", given, (sample.low, sample.high), validate, stacklevel=4)
    derive = chosen.from_returns
    beta = beta if derive is None else planned_beta(derive, beta, sample)
    delta, beta = prepare_levels(chosen, delta, beta, n, dtype, validate)
    rows = padded_rows(thresholds, sample, 1)
    least = np.zeros((), dtype) if chosen is not SOFT else least_evidence(int(sample.num_rollouts), dtype)
    fields = _weighted(chosen, per_task, *placed((sample, rows, weights, beta, delta, least)))
    fields |= {"thresholds": rows, "delta": delta, "max_weight": weights[1]} | ({} if beta is None else {"beta": beta})
    settings = {"num_tasks": n, "bound": bound, "method": f"weighted_{method}", "quantity": quantity_of(bound)}
    return about(answer(WeightedCertificate, fields, {"task": n, "threshold": len(thresholds)}, **settings), returns)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _weighted(method: Method, bound: Bound, sample: Sample, thresholds, weights, beta, delta, least) -> dict[str, Any]:
    there = jnp.broadcast_to(jnp.arange(sample.tasks[-1], dtype=np.int32) < sample.num_tasks, sample.tasks)
    parts = parts_of_largest(jnp.broadcast_to(weights[0], sample.tasks), weights[1], there if sample.padded else None)
    if method is ATTAINED:
        found = _of_successes(sample, thresholds, parts, beta, delta, there)
    elif method is SOFT:
        found = _of_evidence(sample, thresholds, parts, beta, delta, least)
    else:
        found = _of_bounds(bound, sample, thresholds, parts, beta, delta)
    lower, violations, epsilon, used = found
    # Where no task is valid, as for refuted returns, weights alone certify nothing.
    some = jnp.any(jnp.isfinite(lower) & there, axis=-1, keepdims=True)
    n, bad_task = sample.num_tasks, any_neginf(lower, sample.num_tasks)
    solution = Solution(jnp.where(some, epsilon, 1.0), n - violations, jnp.ones(epsilon.shape, bool))
    fields = fields_of_solution(method, violations, solution, thresholds, used, delta, n, bad_task)
    return {**fields, "lower_bounds": lower, "beta": used, "effective_size": parts.effective_size}


_Found = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _of_bounds(bound: Bound, sample: Sample, thresholds, parts: Weights, beta, delta) -> _Found:
    """From lower bounds [..., n] at level beta."""
    lower = jnp.where(parts.valid, task_bounds(bound, sample, beta), -jnp.inf)
    passed = lower[..., None] >= jnp.broadcast_to(thresholds, (*lower.shape, thresholds.shape[-1]))
    epsilon = weighted_epsilon(passed.astype(lower.dtype), parts, jnp.zeros_like(delta), beta, delta)
    return lower, count_violations(lower, thresholds, sample.num_tasks), epsilon, beta


def _of_evidence(sample: Sample, thresholds, parts: Weights, alpha, delta, least) -> _Found:
    """From e-values, as soft counts."""
    wealth, valid = evidence(sample, thresholds)
    wealth, valid = jnp.where(parts.valid[..., None], wealth, 0), valid & parts.valid
    share, low = shares(wealth, alpha, least)
    epsilon = weighted_epsilon(share, parts, low, alpha, delta)
    violations = sample.num_tasks - jnp.sum(wealth > 1, axis=-2, dtype=jnp.int32)
    return jnp.where(valid & (alpha > 0), sample.low, -jnp.inf), violations, epsilon, alpha


def _of_successes(sample: Sample, thresholds, parts: Weights, beta, delta, there: jax.Array) -> _Found:
    """From numbers of successes, at the levels that these attain."""
    found = counted(sample)
    count = jnp.where(parts.valid, found.successes, -1)
    num_rollouts = found.num_rollouts
    if sample.is_full:
        num_rollouts = jnp.broadcast_to(sample.num_rollouts.astype(count.dtype), (*count.shape[:-1], 1))

    def solve(passed: jax.Array, level: jax.Array, share_of_delta: jax.Array) -> jax.Array:
        level = jnp.where(there[..., None], level, 0)
        worst = jnp.max(level, axis=-2)
        above_zero = jnp.maximum(worst, float(jnp.finfo(level.dtype).tiny))
        share = jnp.where(passed, 1, complement_down(_lost(level, worst)))
        return weighted_epsilon(share, parts, jnp.zeros_like(delta), above_zero, share_of_delta)

    risks = risks_at_levels(count, num_rollouts, thresholds, numbers_for(beta), delta, solve, there)
    violations, solution, level = least_risk(*risks, sample.num_tasks)
    lower = jnp.where(count >= 0, 0, -jnp.inf).astype(count.dtype)
    return lower, violations, solution.epsilon, level if beta is None else beta


def _lost(level: jax.Array, worst: jax.Array) -> jax.Array:
    """What a task with a level of its own loses if it does not pass, 1 / (1 - level), in units of the largest loss."""
    tiny = float(jnp.finfo(level.dtype).tiny)
    most = jnp.broadcast_to(complement_up(worst)[..., None, :], level.shape)
    rest = quotient(most, jnp.maximum(complement_down(level), tiny))
    return jnp.minimum(rest * (1 + 4 * unit_roundoff(level.dtype)), 1)


def weighted_epsilon(
    share: jax.Array, weights: Weights, low: jax.Array, beta: jax.Array, delta: jax.Array
) -> jax.Array:
    """The certified risk [..., t] from shares [..., n, t] rounded down, each at least ``low``.

    Never below the exact value for the given shares; 1 for levels outside (0, 1), or if any weight is invalid.
    """
    valid, u = (beta > 0) & (beta < 1), unit_roundoff(share.dtype)
    consistent = jnp.all(weights.valid, axis=-1, keepdims=True)
    mean = weighted_mean(BETTING, share, weights, low, delta)
    rest = jnp.broadcast_to(complement_down(jnp.where(valid, beta, 0.5)), mean.shape)
    # The quotient and two products: 4 u.
    risk = quotient(complement_up(jnp.clip(mean, 0, 1)), rest) * weights.largest * (1 + 8 * u)
    return jnp.where(valid & consistent & (mean >= 0) & (risk < 1), risk, 1.0)


WEIGHTED = Question(
    name="weighted",
    words="on what share of new tasks from another distribution, of known density ratio, is it at least a threshold?",
    function=certify_weighted,
    certificate=WeightedCertificate,
    settings=same("delta", "beta", "bound", "method", "max_weight"),
    options=(Option("max_weight", float, "What no weight exceeds", True, check=check_largest),),
)
