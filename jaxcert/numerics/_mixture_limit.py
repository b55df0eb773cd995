"""The limit on the risk that a mixture of binomial tails gives, at every number of tasks together; never below it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._binomial_limits import move_log_odds, parabola_root, start_point
from jaxcert.numerics._elementary import log
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import unit_roundoff

# The number of terms: about 11 sqrt(k n / (n - k)) are needed near the limit. Terms of one step of the loop.
_MOST_TERMS, _CHUNK = 2**13, 8
# The error of a term relative to the one before, in u: 3 for either sum, 1 for either product, 4 for a GPU's quotient.
_PER_TERM = 14


class Series(NamedTuple):
    """A partial sum of F, at most how much the rest is, and a bound on the error of the logarithm of both."""

    total: jax.Array
    rest: jax.Array
    error: jax.Array


class _State(NamedTuple):
    place: jax.Array
    term: jax.Array
    total: jax.Array
    moment: jax.Array  # the sum of the terms times their indices
    steps: jax.Array


@jax.custom_jvp
def sequence_limit(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
    """The q in (0, 1] with M(q) = 1 / delta, never below the exact one; 1 at k = n; differentiable in delta.

    All are arrays of one float type and shape, k and n integers with 0 <= k <= n. The prior is uniform.
    """
    # M can reach 1/delta nowhere at k = n; next to it the series are long, and nothing of use is certified.
    useful = k <= n * (31 / 32)
    k, n = jnp.where(useful, k, 0.0), jnp.where(useful, n, 1.0)
    ones = jnp.ones_like(delta)
    problem = _problem(k, n, delta)

    def evaluate(q):
        inside = jnp.where(q < 1, q, 0.5)
        residual, slope = _residual(inside, problem)
        step = parabola_root(residual, slope, -n * inside * (1 - inside))
        return jnp.where(q < 1, residual, -jnp.inf), move_log_odds(inside, step)

    # Near the limit: the Clopper-Pearson limit at a smaller level, by Laplace's approximation of the mixture.
    level = jnp.maximum(0.2 * delta / jnp.sqrt(k + 1), jnp.finfo(delta.dtype).tiny)
    start = jnp.clip(start_point(jnp.minimum(k, n - 1), n, level), 1e-30, 1 - 2.0**-7)
    return safe_root(evaluate, start, safe=ones, unsafe=jnp.where(useful, k / n, ones))


@sequence_limit.defjvp
def _sequence_limit_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    """d q / d delta by the implicit function theorem; 0 at the end of [0, 1]."""
    q = sequence_limit(*primals)
    inside = q < 1
    point = jnp.where(inside, q, 0.5)
    _, slope = _residual(point, _problem(*primals))
    rate = jnp.where(inside, point * (1 - point) / (primals[2] * jnp.where(slope < 0, slope, -1.0)), 0.0)
    return q, rate * tangents[2]


def _problem(k, n, delta) -> tuple[jax.Array, ...]:
    """The inputs that do not depend on q: k, n, 1 - delta, and a and b of posterior and prior, in rows.

    Last ln((1 + k) / delta), which the ratio of the sums has to reach, and its error.
    """
    parts, one = [-log(delta), log(1 + k)], jnp.ones_like(delta)
    # A logarithm is off by 3 u and by 2 u for its argument, the sums by u of all together.
    error = unit_roundoff(delta.dtype) * (8 * (jnp.abs(parts[0]) + jnp.abs(parts[1])) + 4)
    a, b = jnp.stack([1 + k, one]), jnp.stack([1 + (n - k), one])
    return k, n, 1 - delta, a, b, parts[0] + parts[1], error


def _residual(q: jax.Array, problem: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
    """An upper bound on ln(1/delta) - ln M(q), and its derivative in the log-odds of q where it is 0.

    The derivative of ln M is n q - k - (1 - 1/M) / F(1, 1; q), which is positive wherever M > 1.
    """
    k, n, weight, a, b, needed, error = problem
    found = series(a, b, jnp.stack([q, q]))
    sums = jnp.stack([found.total[0], found.total[1] + found.rest[1]])
    upper, lower = log(sums)
    rounding = error + unit_roundoff(q.dtype) * (6 * (jnp.abs(upper) + jnp.abs(lower)) + jnp.abs(needed) + 4)
    residual = (needed - (upper - lower)) + (found.error[0] + found.error[1] + rounding)
    return residual, weight / sums[1] - (n * q - k)


def series(a: jax.Array, b: jax.Array, q: jax.Array) -> Series:
    """F(a, b; q) for a, b > 0 and 0 < q < 1, arrays of one float type and shape; a and b may be off by 2 u.

    The terms change at the rate (a + b + i) / (a + 1 + i) q, which falls to q if b > 1 and rises to it otherwise, so
    that the rest after a term is at most the rest of a geometric series at the larger of both rates.
    """
    u = unit_roundoff(q.dtype)

    def rest(state: _State) -> jax.Array:
        rate = jnp.maximum((a + b + state.place) / (a + 1 + state.place), 1) * q * (1 + 16 * u)
        return jnp.where(rate < 1, state.term * rate / (1 - rate) * (1 + 16 * u), jnp.inf)

    def active(state: _State) -> jax.Array:
        return (rest(state) > u * state.total) & (state.total < jnp.inf)

    def body(state: _State) -> _State:
        term, total, moment = state.term, jnp.zeros_like(q), jnp.zeros_like(q)
        for j in range(_CHUNK):
            i = state.place + j
            term = term * (q * (a + b + i) / (a + 1 + i))
            total, moment = total + term, moment + (i + 1) * term
        more = _State(state.place + _CHUNK, term, state.total + total, state.moment + moment, state.steps)
        goes_on = active(state)
        taken = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), more, state)
        return taken._replace(steps=state.steps + 1)

    zero, one = jnp.zeros_like(q), jnp.ones_like(q)
    begin = _State(zero, one, one, zero, jnp.int32(0))
    final = jax.lax.while_loop(lambda s: jnp.any(active(s)) & (s.steps < _MOST_TERMS // _CHUNK), body, begin)
    # Beyond the largest float the sum is at least that float, and no more is known; no index is beyond the last one.
    fits = (final.total < jnp.inf) & (final.moment < jnp.inf)
    total = jnp.minimum(final.total, jnp.finfo(q.dtype).max)
    mean_index = jnp.where(fits, final.moment / total, final.place)
    error = u * (_PER_TERM * mean_index * (1 + 2.0**-5) + final.place / _CHUNK + (2 * _CHUNK + 8))
    return Series(total, jnp.where(final.total < jnp.inf, rest(final), jnp.inf), error)
