"""Arithmetic that errs on a stated side."""

from jaxcert.numerics._binomial_kernel import SmallerTail, log_probability, smaller_tail, tail_error
from jaxcert.numerics._binomial_limits import (
    log_cdf,
    log_sf,
    lower_limit,
    move_log_odds,
    start_point,
    upper_limit,
)
from jaxcert.numerics._root import SafeRoot, safe_root
from jaxcert.numerics._rounding import (
    cast,
    complement_down,
    complement_up,
    compute_dtype,
    next_down,
    next_up,
    unit_roundoff,
)
from jaxcert.numerics._summation import sum_error, tree_sum
from jaxcert.numerics._tails import binomial_cdf, binomial_sf, clopper_pearson_lower, clopper_pearson_upper

__all__ = [
    "SafeRoot",
    "SmallerTail",
    "binomial_cdf",
    "binomial_sf",
    "cast",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "complement_down",
    "complement_up",
    "compute_dtype",
    "log_cdf",
    "log_probability",
    "log_sf",
    "lower_limit",
    "move_log_odds",
    "next_down",
    "next_up",
    "safe_root",
    "smaller_tail",
    "start_point",
    "sum_error",
    "tail_error",
    "tree_sum",
    "unit_roundoff",
    "upper_limit",
]
