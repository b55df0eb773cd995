"""Check returns and what was declared of them for the usual mistakes, one check after another."""

import functools
from typing import NamedTuple

import numpy as np

from jaxcert import bounds
from jaxcert._types import Array
from jaxcert._validation import as_numbers, check_number, choose
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS
from jaxcert.diagnostics._dependence import Sample, common_seeds, constant_tasks, equal_tasks, repeated_rollouts, trend
from jaxcert.returns._checks import check_returns

# --- the checks of what was declared: support, bound and delta --------------------------------------------------------

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
    # Not where they lie: a page gives no single return away, and a support must not be read off the returns.
    return (
        f"all returns lie within {100 * width / (high - low):.2g} % of the support [{low:g}, {high:g}]. With one up "
        f"to three times as wide as they are, the lower bounds of the tasks would be {gain:.3g} higher on average. If "
        "a narrower support follows from the environment, declare it; one read off these returns is not valid."
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


# --- all checks -------------------------------------------------------------------------------------------------------

# The finding that another bound certifies more.
WEAKER_BOUND = "weaker-bound"
# Findings about the support.
OF_SUPPORT = ("edge-of-support", "wide-support")
# Each check returns its message, or None.
CHECKS = {
    "large-delta": large_delta,
    "equal-tasks": equal_tasks,
    "common-seeds": common_seeds,
    "repeated-rollouts": repeated_rollouts,
    "constant-tasks": constant_tasks,
    "trend": trend,
    "edge-of-support": edge_of_support,
    "wide-support": wide_support,
    WEAKER_BOUND: weaker_bound,
}


class Finding(NamedTuple):
    """A likely mistake in the data or the settings.

    Attributes:
        name: the check's name; the page on usual mistakes has a section with it.
        message: the finding and what to do about it, in words.
    """

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.message} [{self.name}]"


def diagnose(
    returns: Array,
    *,
    support: tuple[float, float],
    delta: float = 0.05,
    bound: str = "betting",
    method: str = "binomial",
    where: Array | None = None,
    listed: bool = False,
) -> tuple[Finding, ...]:
    """Look for the usual mistakes in returns and settings.

    A certificate is only as good as its assumptions. No check of the data can prove them, but many mistakes leave a
    trace: the same seeds in every task, copied rows, returns that were clipped. An empty result therefore proves
    nothing. Each statistical check reports at most about one correct data set in 200, also if returns are rounded.

    Use the findings in a report, not to choose data or settings: leaving out a task because of a finding makes the
    certificate wrong.

    Args:
        returns: float[n, m], as for ``certify``.
        support, delta, bound, method: as for ``certify``.
        where: bool[n, m], which rollouts count; all by default.
        listed: whether the tasks are a fixed list, as for ``certify_suite``, which has bounds but no method.

    Returns:
        The findings, in a fixed order; empty if there are none.

    Raises:
        ValueError: for returns that are not [n, m], not finite or outside the support, no rollout that counts, a
            delta that is not positive, or an unknown name.

    Example:
        >>> import numpy as np
        >>> seeds = np.random.default_rng(0).uniform(0, 0.2, (1, 50))  # the same seeds in all tasks
        >>> skill = np.random.default_rng(1).uniform(0.2, 0.8, (40, 1))
        >>> [found.name for found in diagnose(skill + seeds, support=(0, 1))]
        ['common-seeds']

    Reference: the page on usual mistakes.
    """
    choose("bound", bound, BOUNDS)
    choose("method", method, METHODS)
    check_number("delta", delta, lambda number: number > 0, "a probability in (0, 1)")
    values = as_numbers("returns", returns)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"returns has shape {values.shape}; expected [n, m]")
    present = np.ones(values.shape, bool) if where is None else np.broadcast_to(np.asarray(where, bool), values.shape)
    low, high = map(float, support)
    check_returns(values, low, high, present, binary=False)
    if not present.any():
        raise ValueError("where is False everywhere; expected at least one rollout that counts")
    kept = np.where(present, values, np.nan)[present.any(axis=1)]
    sample = Sample(kept, (low, high), bound, method, float(delta), listed)
    messages = {name: check(sample) for name, check in CHECKS.items()}
    return tuple(Finding(name, message) for name, message in messages.items() if message)
