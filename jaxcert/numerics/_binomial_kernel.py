"""The smaller of the two binomial tails, with a stated bound on its relative error.

For 0 <= k < n and 0 < p < 1, with q = 1 - p,

    P[Bin(n, p) <= k] = I_q(n - k, k + 1),       P[Bin(n, p) > k] = I_p(k + 1, n - k).

Whichever event lies on the far side of the mean of Beta(k + 1, n - k) is computed as

    b(k; n, p) (n - k) p / (b_1 + a_2/(b_2 + a_3/(b_3 + ...)))

where b(k; n, p) is the point probability by Loader's saddle-point form and the continued fraction is that of DiDonato
and Morris (1992, eq. 9): on this side every term of it is positive, so that evaluating it backwards loses nothing.
The library functions of JAX and TensorFlow Probability subtract log-gamma values of size n log n instead: at large n
the error of a float32 tail can exceed the tail itself.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._elementary import atanh_tail, halves, log, near_cube_root, quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._tail_error import fraction_error, point_error


class SmallerTail(NamedTuple):
    """The log of the smaller tail, two derivatives in the log-odds of p, whether it is P[Bin <= k], and an error bound.

    The bound is on the error of the logarithm, for the roundings of any device (theory page, section 5.1).
    """

    log_tail: jax.Array
    slope: jax.Array
    curvature: jax.Array
    is_lower: jax.Array
    error: jax.Array


def smaller_tail(k: jax.Array, n: jax.Array, p: jax.Array) -> SmallerTail:
    """The smaller tail at k of Bin(n, p), for arguments of one float type and one shape, 0 <= k < n, 0 < p < 1.

    The tail changes with the log-odds at the rate b(k; n, p) (n - k) p, which itself changes at the relative rate
    k - np + q.
    """
    q = 1 - p
    excess = _mean_minus_count(k, n, p, q)  # np - k
    lead = excess + (p - 1)  # (n + 1) p - (k + 1): positive iff p lies above the mean of Beta(k + 1, n - k)
    lower = lead >= 0
    a, b = jnp.where(lower, n - k, k + 1), jnp.where(lower, k + 1, n - k)
    x, y, lead = jnp.where(lower, q, p), jnp.where(lower, p, q), jnp.abs(lead)
    scaled = a * (lead + 1) + (a + 1) * _continued_fraction(a, b, x, y, lead)
    log_tail, error = _log_point_probability(k, n, p, q, excess, (n - k) * p * (a + 1) / scaled)
    fraction = scaled / (a + 1)
    slope = jnp.where(lower, -fraction, fraction)
    error = error + fraction_error(a, b, x, y, lead)
    return SmallerTail(log_tail, slope, slope * ((q - excess) - slope), lower, error)


def _mean_minus_count(k: jax.Array, n: jax.Array, p: jax.Array, q: jax.Array) -> jax.Array:
    """np - k with an exact product.

    Each factor is split into two halves whose products are exact, so that a compiler which fuses a product and a sum
    into one operation changes nothing. The small products are added first. For p > 1/2, q is exact and
    nq - (n - k) is the better form.
    """
    flip = p > 0.5
    x, c = jnp.where(flip, q, p), jnp.where(flip, n - k, k)
    n_hi, n_lo = halves(n)
    x_hi, x_lo = halves(x)
    d = (n_hi * x_hi - c) + (n_hi * x_lo + (n_lo * x_hi + n_lo * x_lo))
    return jnp.where(flip, -d, d)


# --- the point probability ----------------------------------------------------------------------------------------


def log_probability(k: jax.Array, n: jax.Array, p: jax.Array) -> tuple[jax.Array, jax.Array]:
    """log P[Bin(n, p) = k] for 0 <= k < n, and a bound on its absolute error."""
    q = 1 - p
    return _log_point_probability(k, n, p, q, _mean_minus_count(k, n, p, q), jnp.ones_like(p))


def _log_point_probability(k, n, p, q, excess, factor) -> tuple[jax.Array, jax.Array]:
    """log(b(k; n, p) factor), Loader (2000), "Fast and accurate computation of binomial probabilities"; its error."""
    inner = jnp.where(k > 0, k, 1.0)
    stirling = _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k)
    # That of k = 0 is its mean: n log(1 - p) is minus the sum of the two, and Stirling's terms cancel.
    deviances = jnp.where(k > 0, deviance(inner, n * p, -excess), excess) + deviance(n - k, n * q, excess)
    size = jnp.sqrt(n / ((n - k) * inner * np.asarray(2 * np.pi, p.dtype)))
    value = (stirling - deviances) + log(jnp.where(k > 0, size, 1) * factor)
    return value, point_error(value, k, n, excess)


def deviance(x: jax.Array, mean: jax.Array, d: jax.Array) -> jax.Array:
    """x log(x / mean) + mean - x >= 0 for a d = x - mean of full accuracy."""
    near = jnp.abs(d) < 0.5 * (x + mean)
    # d / (x + mean) or x / mean.
    ratio = quotient(jnp.where(near, d, x), jnp.where(near, 2 * x - d, mean))
    v = jnp.where(near, ratio, 0.0)
    series = d * v + 2 * x * v * atanh_tail(v * v, 1 / 4)
    return jnp.where(near, series, x * log(jnp.where(near, 1.0, ratio)) - d)


_STIRLING = np.array([
    0.0, 0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509, 0.01664469118982119,
    0.01387612882307075, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
    0.00757367548795184, 0.00694284010720953, 0.006408994188004207, 0.0059513701127588475, 0.005554733551962801,
])  # fmt: skip


def _stirling_error(x: jax.Array) -> jax.Array:
    """log(x!) - log(sqrt(2 pi x) (x/e)**x) for integers x >= 0: a table below 16, then Stirling's series."""
    small = x < 16
    table = jnp.asarray(_STIRLING, x.dtype)[jnp.where(small, x, 0.0).astype(jnp.int32)]
    y = 1 / jnp.where(small, 16.0, x)
    y2 = y * y
    series = y * (1 / 12 - y2 * (1 / 360 - y2 * (1 / 1260 - y2 * (1 / 1680 - y2 / 1188))))
    return jnp.where(small, table, series)


# --- the continued fraction ---------------------------------------------------------------------------------------


def terms_at_once() -> int:
    """Terms per iteration of the loop: each iteration is a launch and a wait on a GPU, and next to nothing on a CPU.

    Most problems need sixteen terms or fewer, and a CPU no term more than needed.
    """
    return 1 if jax.default_backend() == "cpu" else 16


def _continued_fraction(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array, lead: jax.Array) -> jax.Array:
    """a_2/(b_2 + ...) of DiDonato and Morris with lead = a - (a + b) x >= 0, evaluated from the last term needed."""
    steps = _terms_needed(a, b, x, y, lead)
    unrolled = terms_at_once()
    trips = jnp.ceil(jnp.max(steps, initial=0.0) / unrolled)

    def term(m, v, after):
        before = 1 / (a + (2 * m - 1))
        scale = m * (b - m) * x * before
        numerator = (a + (m - 1)) * (a + b + (m - 1)) * before * (scale * x)
        denominator = m + scale + (a + m) * after * (lead + 1 + m * (1 + y))
        # Elements with fewer terms wait, so that their result does not depend on the rest of the batch.
        return jnp.where(m <= steps, numerator / (denominator + v), 0.0), before

    def body(i, carry):
        v, after = carry  # the tail of the fraction from term m + 1 on, and 1/(a + 2m + 1)
        last = (trips - jnp.asarray(i, v.dtype)) * unrolled
        for back in range(unrolled):
            v, after = term(last - back, v, after)
        return v, after

    start = jnp.zeros_like(lead), 1 / (a + (2 * unrolled * trips + 1))
    v, _ = jax.lax.fori_loop(0, trips.astype(jnp.int32), body, start)
    return v


def _terms_needed(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array, lead: jax.Array) -> jax.Array:
    """How many terms bring the truncation error below u.

    With s = sqrt(n x y), term m multiplies the error by about exp(-(lead + 2 (1 + y) m) / (s sqrt(m))): r = sqrt(m)
    solves (4/3)(1 + y) r**3 / s + 2 r lead / s = log(1/u). The left side is convex: each Newton iterate lies above the
    root. A constant is added for small s; the fraction ends by itself after b - 1 terms.
    """
    digits = 2 - float(np.log(unit_roundoff(lead.dtype)))
    s = jnp.sqrt((a + b) * x * y) + 1
    cubic, linear = 4 / 3 * (1 + y) / s, 2 * lead / s
    r = jnp.minimum(near_cube_root(digits / cubic), digits / jnp.maximum(linear, 1e-6))
    for _ in range(3):
        r = r - (cubic * r**3 + linear * r - digits) / (3 * cubic * r**2 + linear)
    terms = jnp.minimum(jnp.ceil(r * r + 12), b - 1)
    # An invalid element (NaN) must not reduce the number of terms of the others.
    return jnp.where(terms > 0, terms, 0.0)
