"""Divergences, in decimals with bounds on their error."""

import decimal
import functools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

# What a formula loses: a relative and an absolute margin far above 80 digits and far below those of a float.
RELATIVE, ABSOLUTE = Decimal("1e-25"), Decimal("1e-40")
INFINITY, HALF = Decimal("Infinity"), Decimal("0.5")
# erfc(13) < 1e-74.
_BEYOND = 13
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def with_80_digits(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function computed with 80 digits: what overflows becomes infinite, what has no value NaN."""

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        context = decimal.Context(prec=80, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
        with decimal.localcontext(context):
            return function(*args, **kwargs)

    return computed


def round_up(value: Decimal) -> float:
    """The least float that is not below the value; infinite for NaN."""
    if value.is_nan():
        return math.inf
    near = float(value)
    return near if Decimal(near) >= value else math.nextafter(near, math.inf)


def sqrt_two_pi() -> Decimal:
    """The square root of 2 pi."""
    return (2 * _PI).sqrt()


def normal_density(z: Decimal) -> Decimal:
    """Density of the standard normal distribution."""
    return Decimal(0) if z.is_infinite() else (-z * z / 2).exp() / sqrt_two_pi()


def normal_mass(low: Decimal, high: Decimal) -> Decimal:
    """Mass of the standard normal distribution between two numbers, with an absolute error below 1e-70."""
    return HALF * (_erf(high) - _erf(low)) if low < high else Decimal(0)


@functools.lru_cache(maxsize=1024)
def _erf(z: Decimal) -> Decimal:
    """erf(z / sqrt 2) by a series of positive terms: sqrt(2/pi) exp(-z²/2) (z + z³/3 + z⁵/15 + ...)."""
    if abs(z) > _BEYOND * Decimal(2).sqrt():
        return Decimal(1).copy_sign(z)
    term, total, odd = z, z, 1
    while abs(term) > abs(total) * Decimal("1e-82"):
        odd += 2
        term *= z * z / odd
        total += term
    return 2 * total * (-z * z / 2).exp() / sqrt_two_pi()


# For pairs of distributions between which none is known.
OTHER_WAYS = (
    "state the radius of the shift yourself; or bound the density ratio of the tasks where it is bounded, and add the "
    "share of the others (shifted_epsilon by one, then by the other); or weight the tasks (certify_weighted). See "
    "'Where none is known' on the page on task distributions"
)


class Divergences(NamedTuple):
    """Upper bounds on the divergences of Q from P; each is the exact value but for its margin, where that is known.

    Attributes:
        total_variation: sup_A |Q(A) - P(A)|.
        kl: E_Q[ln dQ/dP].
        chi2: E_P[(dQ/dP - 1)²].
        ratio: the essential supremum of dQ/dP.
    """

    total_variation: Decimal = Decimal(1)
    kl: Decimal = INFINITY
    chi2: Decimal = INFINITY
    ratio: Decimal = INFINITY


SAME = Divergences(Decimal(0), Decimal(0), Decimal(0), Decimal(1))


def with_margin(found: Divergences) -> Divergences:
    """The values of a formula moved up by what it can have lost; infinite for a value that is NaN."""
    distance, kl, chi2, ratio = (INFINITY if value.is_nan() else value for value in found)
    raised = [max(value, Decimal(0)) * (1 + RELATIVE) + ABSOLUTE for value in (distance, kl, chi2)]
    return tightened(Divergences(*raised, ratio=max(ratio, Decimal(1)) * (1 + RELATIVE)))


def tightened(found: Divergences) -> Divergences:
    """Each replaced by what the others imply, where that is less."""
    distance, kl, chi2, ratio = found
    chi2 = max(min(chi2, ratio - 1), Decimal(0))
    kl = min(kl, (1 + chi2).ln())
    implied = [(kl * HALF).sqrt(), (1 - (-kl).exp()).sqrt(), chi2.sqrt() * HALF, 1 - 1 / ratio]
    # A sum 1 + χ² near 1 is rounded, the root of its logarithm more so.
    return Divergences(min(Decimal(1), distance, *(value + ABSOLUTE for value in implied)), kl, chi2, ratio)
