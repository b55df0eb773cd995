"""The limit on the risk that a mixture of likelihood ratios gives, at all numbers of tasks together; never below it."""

import jax
import jax.numpy as jnp

from jaxcert.numerics._binomial_kernel import log_probability
from jaxcert.numerics._binomial_limits import log_sf, move_log_odds, parabola_root, start_point
from jaxcert.numerics._elementary import log
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import most_whole, unit_roundoff


@jax.custom_jvp
def sequence_limit(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
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


@sequence_limit.defjvp
def _sequence_limit_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    """d q / d delta by the implicit function theorem; 0 at the end of [0, 1]."""
    k, n, delta = primals
    q = sequence_limit(k, n, delta)
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
