"""exp, expm1, log and log1p from only additions, products and quotients.

XLA's own versions differ in their last bits between full vectors and remainders, between devices and between releases,
and its log1p is off by up to 240 u in float64 on the CPU. Here each element goes through the same few operations
wherever it stands in an array, and the error bounds are tested. Arguments and results are arrays of one float type;
subnormal numbers count as 0, as they do in XLA.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

_LN2 = (0x2C5C85FDF473DE6AF278ECE600FCBDABD03, 138)  # floor(ln 2 * 2**138), 2**-138


@jax.custom_jvp
def log(x: jax.Array) -> jax.Array:
    """ln x with a relative error of at most 2 u, 3 u where quotients are off by 4 u; -inf at 0, NaN below."""
    mantissa, exponent = _split(x)
    return _log_edges(x, _log_of_parts(mantissa - 1, jnp.zeros_like(x), exponent))


@jax.custom_jvp
def log1p(x: jax.Array) -> jax.Array:
    """ln(1 + x) with a relative error of at most 2 u, 3 u where quotients are off by 4 u; -inf at -1, NaN below."""
    near = jnp.abs(x) < 0.25
    info = jnp.finfo(x.dtype)
    # The sum has one bit less than the type: XLA would simplify (1 + x) - 1 to x, and on a GPU drops a rounding to it.
    whole = 1 + jnp.where(near, 1, x)
    total = jnp.where(whole < 2.0**60, jax.lax.reduce_precision(whole, info.nexp, info.nmant - 1), whole)
    # ``lost`` is what rounding has taken from 1 + x, up to 2**-40 of it. Beyond 2**60 the sum is not rounded to fewer
    # bits, since this could overflow, and the 1 makes no difference.
    lost = jnp.where(x > 1, 1 - (total - x), x - (total - 1))
    mantissa, exponent = _split(total)
    correction = jnp.where((total > 0) & (total < jnp.inf), lost / total, 0)
    far = _log_of_parts(jnp.where(near, x, mantissa - 1), jnp.where(near, 0, correction), jnp.where(near, 0, exponent))
    return _log_edges(total, far)


@jax.custom_jvp
def exp(x: jax.Array) -> jax.Array:
    """e**x with a relative error of at most 2 u; 0 where the result would be subnormal."""
    whole, rest = _exp_parts(x)
    return _exp_of_parts(x, whole, rest)


@jax.custom_jvp
def expm1(x: jax.Array) -> jax.Array:
    """e**x - 1 with a relative error of at most 5 u."""
    whole, rest = _exp_parts(x)
    return jnp.where(whole == 0, rest, _exp_of_parts(x, whole, rest) - 1)


def exp_and_expm1(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both functions at once, without a differentiation rule."""
    whole, rest = _exp_parts(x)
    value = _exp_of_parts(x, whole, rest)
    return value, jnp.where(whole == 0, rest, value - 1)


def rough_growth(x: jax.Array) -> jax.Array:
    """e**x - 1 for x >= 0, to 3 % up to 12 and 4e-6 up to 1, in few operations; smaller beyond 64."""
    x = jnp.minimum(x, 64.0) / 32
    value = x * (1 + x * (1 / 2 + x * (1 / 6)))
    for _ in range(5):
        value = value * (2 + value)
    return value


log.defjvps(lambda t, _, x: t / x)
log1p.defjvps(lambda t, _, x: t / (1 + x))
exp.defjvps(lambda t, value, _: t * value)
expm1.defjvps(lambda t, value, _: t * (value + 1))


# --- logarithms ---------------------------------------------------------------------------------------------------


def _log_of_parts(f: jax.Array, correction: jax.Array, exponent: jax.Array) -> jax.Array:
    """exponent ln 2 + ln(1 + f) + correction for -0.3 <= f <= 0.42, from ln(1 + f) = 2 atanh(s), s = f/(2 + f).

    Since 2 s = f - s f, the leading term is f, which is exact.
    """
    high, low = _ln2_parts(f.dtype)
    s = f / (2 + f)
    rest = s * (2 * atanh_tail(s * s, 1 / 32) - f)
    return exponent * high + (f + (rest + (correction + exponent * low)))


def _log_edges(x: jax.Array, inside: jax.Array) -> jax.Array:
    outside = jnp.where(x >= 0, jnp.where(x > 0, x, -jnp.inf), jnp.nan)
    return jnp.where((x >= jnp.finfo(x.dtype).tiny) & (x < jnp.inf), inside, outside)


def atanh_tail(w: jax.Array, largest: float) -> jax.Array:
    """atanh(s)/s - 1 at w = s**2 for 0 <= w <= largest: the sum of w**j / (2j + 1) over j >= 1."""
    digits = jnp.finfo(w.dtype).nmant + 4
    acc = jnp.zeros_like(w)
    for j in range(math.ceil(digits * math.log(2) / -math.log(largest)), 0, -1):
        acc = w * (acc + 1 / (2 * j + 1))
    return acc


# --- exponentials -------------------------------------------------------------------------------------------------


def _exp_parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A whole number and e**r - 1 for an abs(r) <= 0.3466 with x = whole ln 2 + r; r = x where the number is 0."""
    high, low = _ln2_parts(x.dtype)
    limit = 2.0 ** jnp.finfo(x.dtype).nexp
    whole = jnp.clip(jnp.round(x * (1 / math.log(2))), -limit, limit)
    # Both products are exact, so that a fused multiply-add changes nothing.
    rest = (x - whole * high) - whole * low
    acc = jnp.zeros_like(rest)
    for j in range(15 if x.dtype == jnp.float64 else 9, 1, -1):
        acc = rest * (acc + 1 / math.factorial(j))
    return whole, rest + rest * acc


def _exp_of_parts(x: jax.Array, whole: jax.Array, rest: jax.Array) -> jax.Array:
    info = jnp.finfo(x.dtype)
    # (1 + rest) * 2**whole, by its bits: infinity, not NaN, if it just overflows.
    integer, shift = _integers(x.dtype)
    infinity = np.asarray(np.inf, x.dtype).view(integer)
    bits = jax.lax.bitcast_convert_type(1 + rest, integer) + whole.astype(integer) * integer(1 << shift)
    value = jax.lax.bitcast_convert_type(jnp.minimum(bits, infinity), x.dtype)
    value = jnp.where(x < math.log(info.tiny), 0, jnp.where(x > math.log(info.max), jnp.inf, value))
    return jnp.where(jnp.isnan(x), x, value)


# --- quotients ----------------------------------------------------------------------------------------------------


@jax.custom_jvp
def quotient(x: jax.Array, y: jax.Array) -> jax.Array:
    """x / y with a relative error of at most 2 u on every device, from 2**-100 (float32) or the smallest number on.

    XLA multiplies by the reciprocal of a divisor that is a constant of the program, which rounds twice.

    A CPU rounds quotients to nearest. On a GPU they are off by up to 4 u in float32 and by u in float64.
    """
    if x.dtype == jnp.float64:
        return x / y
    return jax.lax.platform_dependent(x, y, cpu=jnp.divide, default=_corrected_quotient)


def _corrected_quotient(x: jax.Array, y: jax.Array) -> jax.Array:
    """x / y, corrected by the remainder x - (x / y) y, which is computed exactly except for its last rounding."""
    first = x / y
    (q_high, q_low), (y_high, y_low) = halves(first), halves(y)
    left = ((x - q_high * y_high) - (q_high * y_low + q_low * y_high)) - q_low * y_low
    total = first + left / y
    # The halves of infinity and of the largest numbers are invalid.
    return jnp.where(jnp.isfinite(total), total, first)


quotient.defjvps(lambda t, value, x, y: t / y, lambda t, value, x, y: -t * value / y)


def halves(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """x as a sum of two floats so short that products of such halves are exact, unless both are low halves."""
    info = jnp.finfo(x.dtype)
    high = jax.lax.reduce_precision(x, exponent_bits=info.nexp, mantissa_bits=(info.nmant - 1) // 2)
    return high, x - high


# --- bits ---------------------------------------------------------------------------------------------------------


def _ln2_parts(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """ln 2 as a sum of two floats short enough that a product with any exponent is exact."""
    info = jnp.finfo(dtype)
    digits, scale = _LN2
    kept = info.nmant + 1 - info.nexp
    high = digits >> (scale - kept)
    low = (digits - (high << (scale - kept))) >> (scale - 2 * kept)
    return np.asarray(math.ldexp(high, -kept), dtype), np.asarray(math.ldexp(low, -2 * kept), dtype)


def _split(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """x > 0 as mantissa * 2**exponent with the mantissa in [sqrt(1/2), sqrt(2)); invalid for other x."""
    whole, shift = _integers(x.dtype)
    root_half = np.sqrt(np.asarray(0.5, x.dtype)).view(whole)
    bits = jax.lax.bitcast_convert_type(x, whole)
    # Counted from sqrt(1/2), so that the exponent changes there.
    exponent = jax.lax.shift_right_arithmetic(bits - root_half, jnp.full_like(bits, shift))
    mantissa = jax.lax.bitcast_convert_type(bits - exponent * whole(1 << shift), x.dtype)
    return mantissa, exponent.astype(x.dtype)


def near_cube_root(x: jax.Array) -> jax.Array:
    """x**(1/3) for x > 0, to 6 %, from a third of its bits as an integer."""
    whole, _ = _integers(x.dtype)
    one = np.ones((), x.dtype).view(whole)
    bits = jax.lax.bitcast_convert_type(x, whole)
    return jax.lax.bitcast_convert_type(jax.lax.div(bits - one, jnp.full_like(bits, 3)) + one, x.dtype)


def _integers(dtype: np.dtype) -> tuple[type[np.signedinteger], int]:
    """The integer type of the same width, and how many bits the significand has in it."""
    return (np.int64 if dtype == np.float64 else np.int32), jnp.finfo(dtype).nmant
