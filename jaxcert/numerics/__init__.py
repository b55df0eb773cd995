"""Binomial tails, limits and roundings on a stated side."""

from jaxcert.numerics._rounding import cast
from jaxcert.numerics._tails import binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper

__all__ = [
    "binomial_cdf",
    "binomial_sf",
    "cast",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
]
