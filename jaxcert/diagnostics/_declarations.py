"""Checks of what was declared: support, bound and delta."""

import functools

import numpy as np

from jaxcert import bounds
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS
from jaxcert.diagnostics._dependence import Sample

# If the returns span less than this share of the support, the support may cost much.
_NARROW = 0.25
# Returns within this share of their range are close to an end.
_CLOSE = 0.05
# On a grid of about 1000 values or fewer, an end is an ordinary outcome, such as 500 steps without a fall.
_COARSE = 1e-3
# Values closer than this share of the range are one value up to rounding, even in single precision.
_ROUNDING = 1e-6
_BETA = 0.05


def edge_of_support(sample: Sample) -> str | None:
    """Find returns that vary continuously and lie on an end of the support."""
    counts = {f"{end:g}": count for end in sample.support if (count := _clipped(sample.values, end))}
    on_the_edge = " and ".join(f"{count} are exactly {end}" for end, count in counts.items())
    return on_the_edge and (
        f"of {sample.values.size} returns, {on_the_edge}: clipped to the support? It has to contain every return that "
        "was possible, before any clipping."
    )


def _clipped(values: np.ndarray, end: float) -> int:
    """Count the returns on an end; 0 unless some returns lie close to it and far fewer on any of their values."""
    kinds, counts = np.unique(values, return_counts=True)
    on_it = int(counts[kinds == end].sum())
    close = np.abs(kinds / 2 - end / 2) <= _CLOSE * (values.max() / 2 - values.min() / 2)
    neighbours = counts[close & (kinds != end)]
    if not (neighbours.size and on_it > 3 * neighbours.max() + 2):
        return 0
    # Not where values, or their logarithms, as of powers of a discount, are steps of a grid that is not fine.
    scales = [kinds / 2, np.log(kinds)] if kinds[0] > 0 else [kinds / 2]  # a range may overflow
    gaps = [np.diff(scale) / (scale[-1] - scale[0]) for scale in scales]
    return 0 if any(np.min(gap[gap > _ROUNDING], initial=1.0) > _COARSE for gap in gaps) else on_it


def wide_support(sample: Sample) -> str | None:
    """Find a support that is far wider than the returns, and say what it costs."""
    (low, high), (least, most) = sample.support, (float(sample.values.min()), float(sample.values.max()))
    width = most - least
    if not np.isfinite(high) or sample.bound == "clopper_pearson" or not 0 < width < _NARROW * (high - low):
        return None
    if not _has_bounds(sample):
        return None
    narrow = (max(low, least - width), min(high, most + width))
    missing = np.isnan(sample.returns)
    filled, where = np.where(missing, low, sample.returns), ~missing if missing.any() else None
    lower = functools.partial(getattr(bounds, sample.bound), filled, _BETA, where=where)
    gain = np.mean(np.asarray(lower(support=narrow), float) - np.asarray(lower(support=sample.support), float))
    if gain <= 0.02 * width:
        return None
    return (
        f"all returns lie in [{least:g}, {most:g}], the support is [{low:g}, {high:g}]. With [{narrow[0]:g}, "
        f"{narrow[1]:g}], the lower bounds of the tasks would be {gain:.3g} higher on average. If a narrower support "
        "follows from the environment, declare it; one read off these returns is not valid."
    )


def weaker_bound(sample: Sample) -> str | None:
    """Find returns that are all 0 or 1 under a bound for returns in between."""
    binary = sample.support == (0.0, 1.0) and np.all((sample.values == 0) | (sample.values == 1))
    has_own_bound = METHODS[sample.method].bound is not None
    if not binary or sample.bound == "clopper_pearson" or has_own_bound or not _has_bounds(sample):
        return None
    use = 'bound="clopper_pearson" (--bound clopper_pearson)'
    use = use if sample.listed else 'method="attained" (--method attained)'
    return (
        f"all returns are 0 or 1, and the bound is {sample.bound}. If no other return is possible, {use} "
        "certifies more. It is the default for an array of bool or a column of true and false. "
        "Choose it before you see the data."
    )


def large_delta(sample: Sample) -> str | None:
    """Find a confidence level that was given as a failure probability."""
    if sample.delta <= 0.5:
        return None
    return (
        f"delta is {sample.delta:g}, the confidence only {1 - sample.delta:.3g}: delta is the probability of failure; "
        f"for a confidence of {sample.delta:g}, give {1 - sample.delta:.3g}."
    )


def _has_bounds(sample: Sample) -> bool:
    """Whether every task has as many rollouts as the bound needs; ``certify`` refuses others."""
    return int(np.min(np.sum(~np.isnan(sample.returns), axis=1))) >= BOUNDS[sample.bound].min_rollouts
