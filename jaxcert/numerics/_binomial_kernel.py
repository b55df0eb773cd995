"""The point probability of a binomial count and the continued fraction of its tail, with their error."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._elementary import atanh_tail, halves, log, near_cube_root, quotient
from jaxcert.numerics._rounding import unit_roundoff


class _Constants(NamedTuple):
    """Error constants of the point probability, and of the continued fraction at the mean and away from it."""

    point: float
    at_mean: float
    beyond: float


# Three quotients and a root go into a point, and four quotients into each term of the fraction.
_TO_NEAREST, _APPROXIMATE = _Constants(13, 10.5, 19), _Constants(19, 18, 30)


def _constants(dtype: np.dtype) -> _Constants:
    """The constants of the device for which the program is compiled."""
    if dtype == jnp.float64:
        return _TO_NEAREST
    nearest, approximate = (jax.tree.map(dtype.type, constants) for constants in (_TO_NEAREST, _APPROXIMATE))
    return jax.lax.platform_dependent(cpu=lambda: nearest, default=lambda: approximate)


def fraction_error(a: jax.Array, b: jax.Array, x: jax.Array, y: jax.Array, lead: jax.Array) -> jax.Array:
    """Error of the logarithm of the continued fraction, from the roundings of all its terms.

    The errors of its terms are damped the faster the further x lies from the mean a/(a + b): their sum is at most
    1/(1/(c s**(2/3)) + z**2/c') with s the standard deviation and z = lead/s.
    """
    u, constants = unit_roundoff(lead.dtype), _constants(lead.dtype)
    s = jnp.sqrt((a + b) * x * y) + 1
    z, root = lead / s, near_cube_root(s)  # the root is accurate to 6 %
    error = u / (1 / (1.14 * constants.at_mean * root * root) + z * z / constants.beyond)
    return jnp.where(b > 1, error, 0.0)


def point_error(value: jax.Array, k: jax.Array, n: jax.Array, excess: jax.Array) -> jax.Array:
    """Error of the logarithm of a point probability, or of a tail without its continued fraction; 0 for -inf.

    The logarithm of a small one consists almost entirely of the two deviances. The error is computed from the value and
    excess = np - k alone: XLA would recompute anything else for it.
    """
    share = jnp.maximum(_share_lost(-excess, jnp.maximum(k, 1)), _share_lost(excess, n - k))
    total = _constants(value.dtype).point + share * jnp.abs(value) + 0.002 * jnp.abs(excess)
    return jnp.where(value > -jnp.inf, unit_roundoff(value.dtype) * total, 0.0)


def _share_lost(d: jax.Array, x: jax.Array) -> jax.Array:
    """The error of x log(x/mean) - d and of the sums behind it, relative to it, for d = x - mean.

    With v = d/(x + mean), the value comes from a series in v for |v| < 1/2, otherwise from the logarithm, which cancels
    most at x = 3 mean.
    """
    v = d / (2 * x - d)
    size = jnp.abs(v)
    far = jnp.where(v > 0, 34 - 24 * size, jnp.maximum(26.5 - 24 * size, 7.5))
    return jnp.where(size < 0.5, 9.4 + 7.5 * size, far)


class LogTail(NamedTuple):
    """The log of a tail, two derivatives in the log-odds of p, whether it is P[Bin <= k], and an error bound.

    The bound is on the error of the logarithm, for the roundings of any device (theory page, section 5.1).
    """

    log_tail: jax.Array
    slope: jax.Array
    curvature: jax.Array
    is_lower: jax.Array
    error: jax.Array


def smaller_tail(k: jax.Array, n: jax.Array, p: jax.Array) -> LogTail:
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
    return LogTail(log_tail, slope, slope * ((q - excess) - slope), lower, error)


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
    # At k = 0 the first deviance is the mean np: minus the sum of both is n log(1 - p), and Stirling's terms cancel.
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
