"""Check returns for the usual mistakes, one check after another."""

from typing import NamedTuple

import chex
import numpy as np

from jaxcert._validation import as_numbers, check_number
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._registry import METHODS
from jaxcert.diagnostics._declarations import edge_of_support, large_delta, weaker_bound, wide_support
from jaxcert.diagnostics._dependence import Sample, common_seeds, constant_tasks, equal_tasks, repeated_rollouts, trend
from jaxcert.returns._checks import check_returns

# The finding that another bound certifies more.
WEAKER_BOUND = "weaker-bound"
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
    returns: chex.Array,
    *,
    support: tuple[float, float],
    delta: float = 0.05,
    bound: str = "betting",
    method: str = "binomial",
    where: chex.Array | None = None,
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
