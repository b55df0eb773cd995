"""Risks and certificates that hold at every moment while tasks come in, in the order of the tasks."""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._certificate import Certificate, answer, quantity_of
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._counting import any_of, fields_of_risk, reached, solved
from jaxcert.certificates._method import BINOMIAL, Method, epsilon_arguments, inflate, whole
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import Returns, bound_for, levels_of, thresholds_of
from jaxcert.numerics._batches import elementwise, in_blocks, in_front
from jaxcert.numerics._binomial_kernel import log_probability
from jaxcert.numerics._binomial_limits import log_sf, move_log_odds, parabola_root, start_point
from jaxcert.numerics._elementary import log
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import in_unit, most_whole, unit_roundoff
from jaxcert.returns._prepared import Support
from jaxcert.returns._sample import Sample, padded_rows, sample_of


def anytime_epsilon(
    num_violations: Numeric,
    num_tasks: Numeric,
    *,
    delta: Numeric,
    beta: Numeric,
    validate: bool = True,
) -> jax.Array:
    r"""Upper confidence bound on the risk that holds after every number of tasks at once.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{q}{1 - \beta}\Big), \qquad
              \frac{B(1 + k, 1 + n - k)\, I_q(1 + k, 1 + n - k)}{q\, q^k (1 - q)^{n - k}} = \frac1\delta, \qquad
              \hat\varepsilon = 1 \text{ at } k = n.

    One-sided: with probability at least 1 - delta over the tasks and their rollouts, a new task misses the threshold
    with probability at most epsilon, at all moments n = 1, 2, ... together. So sampling may stop at any time, even
    because of epsilon, and the smallest epsilon so far may be kept. Tasks are counted in the order in which they were
    sampled. Fixed beforehand: the threshold, beta and delta. On the left is the mean likelihood ratio against q over
    all smaller shares of violations.

    Args:
        num_violations: k, tasks so far whose lower bound is not at least the threshold; integers in 0..n.
        num_tasks: n >= 1, tasks so far; tested up to 10**6.
        delta: failure probability of the certificates at all moments together, in (0, 1).
        beta, validate: as in ``binomial_epsilon``.

    All arguments broadcast against each other and may be traced: other values, of n too, do not recompile.

    Returns:
        epsilon in (0, 1], never below the exact value for the rounded arguments; differentiable in beta and delta.

    Raises:
        ValueError: for k outside 0..n, n < 1, beta outside [0, 1) or delta outside (0, 1).

    Example:
        >>> print(f"{anytime_epsilon(0, 200, delta=0.01, beta=0.01):.4f}")
        0.0321

    Reference: the theory page, section 16; Ville (1939), Robbins (1970) for mixtures.
    """
    k, n, beta, delta = epsilon_arguments(num_violations, num_tasks, beta, delta, validate, zero_beta=True)
    return elementwise(_epsilon, num_violations=k, num_tasks=n, beta=beta, delta=delta)


@jax.jit
def _epsilon(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> jax.Array:
    return inflate(anytime_risk(k, n, delta), beta)


@jax.jit
def anytime_risk(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
    """q for arrays of one float type that broadcast; 1 wherever an argument is invalid."""
    valid = whole(k, n) & in_unit(delta)
    k, n, delta = (jnp.where(valid, each, safe) for each, safe in zip((k, n, delta), (1.0, 1.0, 0.5), strict=True))
    return jnp.where(valid, in_blocks(_limit, k, n, delta), 1.0)


# --- the limit on the risk, from a mixture of likelihood ratios ------------------------------------------------------


@jax.custom_jvp
def _limit(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
    """The q in (0, 1] with M(q) = 1 / delta, never below the exact one; 1 at k = n; differentiable in delta.

    All are arrays of one float type and shape, k and n integers with 0 <= k <= n. The prior is uniform.
    """
    # M can reach 1/delta nowhere at k = n.
    useful = k < n
    k, n = jnp.where(useful, k, 0.0), jnp.where(useful, n, 1.0)
    ones = jnp.ones_like(delta)

    def evaluate(q):
        inside = jnp.where(q < 1, q, 0.5)
        residual, slope = _residual(inside, k, n, delta)
        step = parabola_root(residual, slope, -n * inside * (1 - inside))
        return jnp.where(q < 1, residual, -jnp.inf), move_log_odds(inside, step)

    # Near the limit: the Clopper-Pearson limit at a smaller level, by Laplace's approximation of the mixture.
    level = jnp.maximum(0.2 * delta / jnp.sqrt(k + 1), jnp.finfo(delta.dtype).tiny)
    start = jnp.clip(start_point(jnp.minimum(k, n - 1), n, level), 1e-30, 1 - 2.0**-7)
    return safe_root(evaluate, start, safe=ones, unsafe=jnp.where(useful, k / n, ones))


@_limit.defjvp
def _limit_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    """d q / d delta by the implicit function theorem; 0 at the end of [0, 1]."""
    k, n, delta = primals
    q = _limit(k, n, delta)
    inside = q < 1
    point = jnp.where(inside, q, 0.5)
    _, slope = _residual(point, jnp.minimum(k, n - 1), n, delta)
    rate = jnp.where(inside, point * (1 - point) / (delta * jnp.where(slope < 0, slope, -1.0)), 0.0)
    return q, rate * tangents[2]


def _residual(q: jax.Array, k: jax.Array, n: jax.Array, delta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """An upper bound on ln(1/delta) - ln M(q), and its derivative in the log-odds of q; for k < n."""
    # Where the type cannot count to n + 1, n stands for it: its tail is smaller, which is safe.
    tail = log_sf(k, jnp.where(n < most_whole(n.dtype), n + 1, n), q)
    log_point, error = log_probability(k, n, q)
    terms = [-log(delta), log(n + 1), log(q), log_point, -tail.log_tail]
    # A logarithm is off by 3 u, the sum of the five by 4 u of all together, n + 1 by u.
    rounding = unit_roundoff(q.dtype) * (9 * sum(map(jnp.abs, terms[1:]), start=jnp.abs(terms[0])) + 4)
    return sum(terms[1:], start=terms[0]) + (tail.error + error + rounding), (1 - q) - (n * q - k) - tail.slope


# --- from returns ---------------------------------------------------------------------------------------------------


def certify_anytime(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | None = None,
    bound: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy after each task, so that one may stop sampling tasks at any moment.

    At each threshold B, fixed before the data were seen:

    .. math:: P\big[\, \varepsilon(B) \le \hat\varepsilon_i(B) \text{ for all } i \,\big] \ge 1 - \delta, \qquad
              \hat\varepsilon_i(B) = \min_{j \le i} \hat\varepsilon(k_j(B), j),

    where k_j(B) counts the violations among the first j tasks, and ``anytime_epsilon`` gives the risk on the right. So
    sampling may stop as soon as a wanted safety is certified, or go on if it is not.

    Args:
        returns: float[..., n, m], a summary, or two policies (``paired``), as in ``certify``; the tasks in the order in
            which they were sampled.
        thresholds, support, beta, bound, where, validate: as in ``certify`` by "binomial", with the same warnings.
        delta: failure probability of the certificates at one threshold, at all moments together, in (0, 1); a scalar.

    Within ``jit`` a new n is a new shape, which is compiled again; ``anytime_epsilon`` is for loops over tasks.

    Returns:
        A ``Certificate`` with arrays [..., t] after all tasks, and the history [..., n, t].

    Raises:
        ValueError: as ``certify``.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = certify_anytime(returns, 400.0, support=(0, 1000), delta=0.01)
        >>> print(found)
        With confidence 0.99, at every moment of the sampling of tasks: on a new task from the same distribution, the
        expected return is at least 400 with probability at least 0.9665.
        >>> print(1 + (found.history > 0.1).sum(axis=0))  # after so many tasks the safety was 0.9
        [65]

    Reference: the theory page, section 16.
    """
    per_task, returns = bound_for(bound, returns, support, where)
    # A search for each task.
    sample = sample_of(dataclasses.replace(per_task, costly=True), returns, support, where, validate)
    row = thresholds_of(sample, thresholds, validate)
    delta, beta = levels_of(BINOMIAL, delta, beta, sample, validate)
    fields = solved(EVERY_MOMENT, per_task, sample, padded_rows(row, sample, 1), beta, delta)
    words = {"bound": per_task.name, "method": EVERY_MOMENT.name, "quantity": quantity_of(per_task.name, returns)}
    return answer(Certificate, fields, sample.num_tasks, len(row), **words, question="anytime")


def _in_order(
    method: Method, bound: Bound | None, sample: Sample, thresholds, beta, delta, known: None
) -> dict[str, jax.Array]:
    """The fields [..., t], and the history [..., n, t]."""
    lower = task_bounds(bound, sample, beta)
    n, there = sample.num_tasks, in_front(lower, sample.num_tasks)[..., None]
    violations, history = at_every_moment(~reached(lower, thresholds) & there, there, beta, delta)
    history = jnp.where(jnp.isfinite(thresholds), history, 1.0)
    row = thresholds, beta, delta, n, any_of(jnp.isneginf(lower), n)
    fields = fields_of_risk(violations, history[..., -1, :], *row)
    return fields | {"history": history, "lower_bounds": lower}


# By bounds at one level, as "binomial".
EVERY_MOMENT = Method("anytime", None, count=_in_order, zero_beta=True)


def at_every_moment(violated: jax.Array, there: jax.Array, beta, delta) -> tuple[jax.Array, jax.Array]:
    """The number of violations [..., t] and the smallest risk so far [..., n, t], from the violations [..., n, t]."""
    counts = jnp.cumsum(violated, axis=-2, dtype=jnp.int32)
    places = jax.lax.broadcasted_iota(delta.dtype, counts.shape, counts.ndim - 2) + 1
    risk = anytime_risk(counts.astype(delta.dtype), places, delta)
    moments = jnp.where(there, inflate(risk, beta), 1.0)
    return counts[..., -1, :], jax.lax.cummin(moments, axis=counts.ndim - 2)


ANYTIME = Question(
    name="anytime",
    words="on what share of new tasks is the performance at least a threshold, at every moment of the sampling?",
    function=certify_anytime,
    paired=True,
    curve=functools.partial(curve_of_counts, method=EVERY_MOMENT),
    missing=Certificate.violated,
)
