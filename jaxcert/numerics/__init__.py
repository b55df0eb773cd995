"""Binomial tails, limits and roundings on a stated side, and the root finder beneath them."""

from jaxcert.numerics._root import SafeRoot, safe_root
from jaxcert.numerics._rounding import cast
from jaxcert.numerics._tails import binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper

__all__ = [
    "SafeRoot",
    "binomial_cdf",
    "binomial_sf",
    "cast",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "safe_root",
]
