"""The paper's Theorem 5.1: certified risk from the scenario approach, and the search for the number of valid tasks."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxcert._types import Numeric
from jaxcert.certificates._method import Method, Solution, Tail, epsilon_arguments, inflate, upper_risk, whole
from jaxcert.numerics._batches import elementwise, in_blocks
from jaxcert.numerics._binomial_limits import log_cdf, log_sf, upper_limit
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._root import halved
from jaxcert.numerics._rounding import in_unit, next_down, unit_roundoff


class Problem(NamedTuple):
    """One instance per element; j = n - k - K counts the invalid bounds tolerated among the n - k retained ones."""

    k: jax.Array
    n: jax.Array
    beta: jax.Array
    delta: jax.Array

    @property
    def share(self) -> jax.Array:
        """At most delta / (n + 1), the share of each K in the union bound."""
        return next_down(quotient(self.delta, self.n + 1), 2)

    @property
    def last(self) -> jax.Array:
        """The largest j: K = 1."""
        return self.n - self.k - 1

    def level(self, j: jax.Array) -> jax.Array:
        """At most t_j = delta/(n+1) - P[Bin(n - k, beta) > j], for j in 0..n-k-1.

        Computed from the small tail, rounded up: the printed form 1 - (1 - .) would lose every digit.
        """
        tail = log_sf(j, self.n - self.k, self.beta)
        slack = 1 + (4 + jnp.abs(tail.log_tail)) * unit_roundoff(j.dtype)
        return next_down(self.share - exp(tail.log_tail + tail.error) * slack)


# --- the minimum over j -------------------------------------------------------------------------------------------


class _Search(NamedTuple):
    """The j under test, and the best epsilon so far with its own j."""

    j: jax.Array
    best: jax.Array
    spare: jax.Array
    searching: jax.Array


def search(problem: Problem, start: jax.Array, feasible: jax.Array) -> tuple[jax.Array, jax.Array]:
    """min over j >= start of U(k + j; n, t_j), and the j at which it is attained.

    If P[Bin(n, best) <= k + j] >= delta/(n+1), no j from here on can win, since t_j <= delta/(n+1).
    """
    log_share = log(problem.share)

    def step(s: _Search) -> _Search:
        level = problem.level(s.j)
        risk = upper_limit(problem.k + s.j, problem.n, jnp.where(level > 0, level, 0.5))
        better = s.searching & (level > 0) & (risk < s.best)
        best, spare = jnp.where(better, risk, s.best), jnp.where(better, s.j, s.spare)
        j, goes_on = jnp.minimum(s.j + 1, problem.last), s.searching & (s.j < problem.last)
        tail = log_cdf(problem.k + j, problem.n, jnp.minimum(best, 1 - unit_roundoff(best.dtype)))
        return _Search(j, best, spare, goes_on & ~(tail.log_tail - tail.error >= log_share))

    begin = _Search(start, jnp.ones_like(start), start, feasible)
    end = jax.lax.while_loop(lambda s: jnp.any(s.searching), step, begin)
    return end.best, end.spare


def scenario_epsilon(
    num_violations: Numeric,
    num_tasks: Numeric,
    beta: Numeric,
    delta: Numeric,
    *,
    validate: bool = True,
) -> Solution:
    r"""The scenario certificate as printed: the smallest of the risks that solve, for K = 1, ..., n - k,

    .. math:: P[\mathrm{Bin}(n - k, 1 - \beta) \ge K] - \Big(1 - \frac{\delta}{n + 1}\Big)
              = P[\mathrm{Bin}(n, \varepsilon_K) \le n - K].

    Epsilon is 1 where no K has a positive left side (infeasible) and at k = n. The search is exact: it starts at the
    largest K with a positive left side and stops when no smaller K can win (theory page).

    The theorem is one-sided, at confidence 1 - delta. It is sound up to beta = sqrt(2 delta) / n; beyond, its failure
    probability can exceed delta by far. ``certify`` therefore reports the larger of this and ``binomial_epsilon``
    there; this function is the theorem itself.

    Args:
        num_violations, beta, delta, validate: as in ``binomial_epsilon``, but for a beta of 0.
        num_tasks: n >= 1.

    All arguments broadcast against each other and may be traced.

    Returns:
        ``Solution(epsilon, num_valid, feasible)``; epsilon is never below the exact value for the rounded
        arguments, and differentiable in beta and delta wherever K does not change.

    Raises:
        ValueError: for k outside 0..n, n < 1, beta or delta outside (0, 1).

    Example:
        >>> solution = scenario_epsilon(0, 200, 1e-4, 0.01)
        >>> print(f"{solution.epsilon:.4f}", solution.num_valid)
        0.0715 198

    Reference: Schnitzer et al. (2026), Theorem 5.1.
    """
    k, n, beta, delta = epsilon_arguments(num_violations, num_tasks, beta, delta, validate, zero_beta=False)
    return elementwise(solve_scenario, num_violations=k, num_tasks=n, beta=beta, delta=delta)


@jax.jit
def solve_scenario(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> Solution:
    """The theorem on arrays of one float type that broadcast; infeasible wherever an argument is invalid."""
    return in_blocks(_solve, *jnp.broadcast_arrays(k, n, beta, delta))


def _solve(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> Solution:
    valid = whole(k, n) & (k < n) & in_unit(beta) & in_unit(delta)
    usual = zip((k, n, beta, delta), (0.0, 1.0, 0.5, 0.5), strict=True)
    problem = Problem(*(jnp.where(valid, each, safe) for each, safe in usual))
    fixed = jax.lax.stop_gradient(problem)
    # The smallest j with t_j > 0, which is non-decreasing in j; beyond the last j if there is none.
    level_at = lambda j: fixed.level(jnp.clip(j, 0, fixed.last))  # noqa: E731
    _, first = halved(lambda j: level_at(j) > 0, jnp.full_like(fixed.k, -1), fixed.last + 1)
    feasible = valid & (first <= fixed.last)
    best, spare = search(fixed, jnp.minimum(first, fixed.last), feasible)
    spare = jnp.where(feasible, spare, 0.0)
    epsilon = _with_derivative(problem, jnp.where(feasible, best, 1.0), spare)
    return Solution(epsilon, jnp.where(feasible, n - k - spare, 0.0).astype(jnp.int32), feasible)


@jax.custom_jvp
def _with_derivative(problem: Problem, epsilon: jax.Array, spare: jax.Array) -> jax.Array:
    """Epsilon itself, with the derivatives in beta and delta of U(k + j; n, t_j) at the j where it is attained."""
    return epsilon


@_with_derivative.defjvp
def _with_derivative_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (problem, epsilon, j), change = primals, tangents[0]
    inside = epsilon < 1
    p = jnp.where(inside, epsilon, 0.5)
    log_tail, slope, *_ = log_cdf(jnp.minimum(problem.k + j, problem.n - 1), problem.n, p)
    log_excess, excess_slope, *_ = log_sf(jnp.minimum(j, problem.last), problem.n - problem.k, problem.beta)
    level_in_beta = -exp(log_excess) * excess_slope / (problem.beta * (1 - problem.beta))
    level_change = change.delta / (problem.n + 1) + level_in_beta * change.beta
    return epsilon, jnp.where(inside, p * (1 - p) / (exp(log_tail) * slope) * level_change, 0.0)


# --- the method ---------------------------------------------------------------------------------------------------


def _search(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> tuple[Solution, jax.Array]:
    """The theorem's risk, and U, on which the binomial one rests, where that may be larger."""
    # Where the theorem is sound, its risk is the larger one; at k = 0 the other takes no search.
    return solve_scenario(k, n, beta, delta), upper_risk(jnp.where(_in_range(beta, delta, n), 0.0, k), n, delta)


def _finish(found: tuple[Solution, jax.Array], k: Any, n: Any, beta: jax.Array) -> Solution:
    """The larger of the theorem's risk and the binomial one, which is sound for every beta."""
    printed, risk = found
    return Solution(jnp.maximum(printed.epsilon, inflate(risk, beta)), printed.num_valid, printed.feasible)


def _in_range(beta: Any, delta: Any, num_tasks: Any) -> Any:
    """beta <= sqrt(2 delta) / n, where the theorem is sound (theory page, section 4.2); less 1e-5 for rounding."""
    return (num_tasks * beta) ** 2 <= (2 - 2e-5) * delta


SCENARIO = Method(
    "scenario",
    Tail(_search, _finish, of_beta=True),
    default_beta=lambda delta, num_tasks, num_rollouts=None: delta / num_tasks,
    is_sound=_in_range,
    chooses_valid=True,
)
