"""The search for the number of valid bounds at which the scenario certificate's risk is smallest."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._binomial_kernel import log_probability
from jaxcert.numerics._binomial_limits import log_cdf, log_sf, move_log_odds, parabola_root, start_point
from jaxcert.numerics._elementary import exp, log, quotient
from jaxcert.numerics._rounding import next_down, unit_roundoff


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

    def next_level(self, j: jax.Array, level: jax.Array) -> jax.Array:
        """At most t_{j+1} = t_j + P[Bin(n - k, beta) = j + 1], for j below the last."""
        size = self.n - self.k
        log_point, error = log_probability(jnp.minimum(j + 1, self.last), size, self.beta)
        u = unit_roundoff(j.dtype)
        point = exp(log_point - error) * (1 - (4 + jnp.abs(log_point)) * u)
        return jnp.minimum(next_down(level + point), self.share)


# --- the first j worth trying -------------------------------------------------------------------------------------


class _Bisection(NamedTuple):
    """j = low is known to be infeasible, j = high to be feasible, with its level; -1 and last + 1 mean none."""

    low: jax.Array
    high: jax.Array
    level: jax.Array
    middle: jax.Array
    then: jax.Array


def first_feasible(problem: Problem) -> tuple[jax.Array, jax.Array]:
    """The smallest j with t_j > 0, which is non-decreasing in j, and t_j; the last j and 0 if there is none."""

    def halve(s: _Bisection) -> _Bisection:
        level = problem.level(jnp.minimum(s.middle, problem.last))
        is_open = s.high - s.low > 1
        up, down = is_open & ~(level > 0), is_open & (level > 0)
        low, high = jnp.where(up, s.middle, s.low), jnp.where(down, s.middle, s.high)
        halfway = jnp.floor(0.5 * (low + high))
        then = (s.then > low) & (s.then < high)
        return _Bisection(
            low, high, jnp.where(down, level, s.level), jnp.where(then, s.then, halfway), -jnp.ones_like(low)
        )

    end = jax.lax.while_loop(lambda s: jnp.any(s.high - s.low > 1), halve, _first_guesses(problem))
    return jnp.minimum(end.high, problem.last), end.level


def _first_guesses(problem: Problem) -> _Bisection:
    """Nothing is known yet; the first j tried is from Bernstein's inequality, the second a little below the mean."""
    log_share = -log(problem.share)
    mean = (problem.n - problem.k) * problem.beta
    reach = jnp.sqrt(2 * mean * (1 - problem.beta) * log_share) + log_share
    none = -jnp.ones_like(mean)
    high = jnp.minimum(jnp.ceil(mean + reach), problem.last)
    return _Bisection(none, problem.last + 1, jnp.zeros_like(mean), high, jnp.maximum(jnp.floor(mean) - 2, 0.0))


# --- the minimum over j -------------------------------------------------------------------------------------------


class _Search(NamedTuple):
    """The point under test for the current j, and the best epsilon verified so far with its j."""

    j: jax.Array
    level: jax.Array
    point: jax.Array
    steps: jax.Array
    best: jax.Array
    spare: jax.Array
    searching: jax.Array


def search(problem: Problem, start: jax.Array, level: jax.Array, feasible: jax.Array) -> tuple[jax.Array, jax.Array]:
    """min over j >= start of U(k + j; n, t_j), and the j at which it is attained.

    Each j is first tested at the best epsilon so far: if P[Bin(n, best) <= k + j] >= delta/(n+1) no j from here on can
    win, since t_j <= delta/(n+1); if it is above t_j, this one cannot. Otherwise Newton's method goes on from there.
    """
    u = unit_roundoff(start.dtype)
    ceiling = 1 - u
    log_share = log(problem.share)

    def step(s: _Search) -> _Search:
        log_tail, slope, curvature, error = log_cdf(problem.k + s.j, problem.n, s.point)
        log_level = log(jnp.where(s.level > 0, s.level, 1.0))
        residual = (log_tail - log_level) + (error + 3 * u * jnp.abs(log_level))
        verified = s.searching & (s.level > 0) & (residual <= 0)
        best = jnp.where(verified, jnp.minimum(s.point, s.best), s.best)
        spare = jnp.where(verified & (s.point <= s.best), s.j, s.spare)

        aim = move_log_odds(s.point, parabola_root(residual, slope, curvature)) * (1 + 4 * u)
        settled = jnp.abs(aim - s.point) <= 32 * u * s.point
        first = s.steps == 0
        beaten = first & (log_tail - error >= log_share)
        # This j is finished: converged, no better than the best, or beyond the resolution of the arithmetic.
        leave = (residual <= 0) & settled | (residual > 0) & (first | (aim >= s.best) | (s.point >= ceiling))
        leave = leave | ~(jnp.abs(aim) <= 1) | (s.steps > 40)
        return _Search(
            j=jnp.where(leave, jnp.minimum(s.j + 1, problem.last), s.j),
            level=jnp.where(leave, problem.next_level(s.j, s.level), s.level),
            point=jnp.minimum(jnp.where(leave, best, aim), ceiling),
            steps=jnp.where(leave, 0, s.steps + 1),
            best=best,
            spare=spare,
            searching=s.searching & ~beaten & ~(leave & (s.j >= problem.last)),
        )

    guess = jnp.minimum(start_point(problem.k + start, problem.n, jnp.where(feasible, level, 0.5)), ceiling)
    ones = jnp.ones_like(start)
    # The first j has no best epsilon to be tested at: it begins at its own guess, as if after a step.
    begin = _Search(start, level, guess, jnp.ones(start.shape, jnp.int32), ones, start, feasible)
    end = jax.lax.while_loop(lambda s: jnp.any(s.searching), step, begin)
    return end.best, end.spare
