"""The methods by name, and the arguments of certificates: checked, and rounded to the safe side."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array
from jaxcert._validation import check_finite, choose, is_concrete, refuse, require_real, warn
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._method import BINOMIAL, MOST_DELTA, Levels, Method
from jaxcert.certificates._scenario import SCENARIO
from jaxcert.certificates._soft import SOFT
from jaxcert.numerics._calibration import calibrated
from jaxcert.numerics._rounding import compute_dtype, known
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import as_successes, divided, is_successes, probability
from jaxcert.returns._sample import Sample, sample_of_numbers
from jaxcert.returns.summaries import Histogram

_ALL = (
    BINOMIAL,
    SCENARIO,
    SOFT,
    ATTAINED,
)
METHODS = {method.name: method for method in _ALL}
# The methods that need only the number of violations.
COUNTING = {name: method for name, method in METHODS.items() if method.bound is None}
# Those for tasks that have weights, or are from strata.
OF_WEIGHTED = {method.name: method for method in (BINOMIAL, SOFT, ATTAINED)}
AUTO = "auto"
# Returns of one policy, [..., n, m], a summary of them, or returns of two policies.
Returns = Array | Histogram | Paired


def defaults(bound: str | None, method: str | None, returns: Any, beta: Any = None) -> tuple[Bound, Method]:
    """Bound and method by their names; successes with their bound have a method of their own, for "auto" too."""
    usual = default_bound(None, returns)
    if method is None:
        binary = usual == CLOPPER_PEARSON.name or is_auto(beta)
        method = ATTAINED.name if binary and (bound or usual) == CLOPPER_PEARSON.name else BINOMIAL.name
    chosen = choose("method", method, METHODS)
    own = None if chosen.bound is None else chosen.bound.name
    if own and bound and bound != own:
        raise ValueError(f"bound is {bound!r}, which has no effect with method {method!r}; expected {own!r}")
    return choose("bound", own or bound or usual, BOUNDS), chosen


def default_bound(bound: str | None, returns: Any) -> str:
    """The name of a bound per task; if none is given, the default for successes, of type bool, or for others."""
    return bound or (CLOPPER_PEARSON.name if is_successes(returns) else BETTING.name)


def bound_for(name: str | None, returns: Any, support: Any, where: Any) -> tuple[Bound, Any]:
    """The bound with that name, or the default for these returns; and the returns, as ``as_successes``."""
    returns = as_successes(returns, support, where, name)
    return choose("bound", default_bound(name, returns), BOUNDS), returns


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds."""
    # A kind with a method of its own, such as a band, also counts them.
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)


# --- levels ---------------------------------------------------------------------------------------------------------


def levels_of(
    method: Method, delta: Any, beta: Any, sample: Sample, validate: bool, *, chooses: bool = False
) -> tuple[Any, Any]:
    """Delta rounded down, and beta, by default the method's own, to nearest, since the rounded one is used.

    Beta is None for a method that chooses one for each threshold. ``chooses``: whether it may be "auto".
    """
    if isinstance(sample.values, Histogram) and not method.summaries:
        raise ValueError("returns are a summary, without single rollouts; this method needs an array")
    checks, n = {"validate": validate, "scalar": True}, int(sample.num_tasks)
    delta = probability("delta", delta, sample.dtype, "down", **checks)
    if chooses and is_auto(beta) and (method.choice or method.counts_successes):
        beta = chosen_levels(method, delta, n) if method.choice else None
    beta = method.default_beta(delta, n, sample.num_rollouts) if beta is None else beta
    if beta is None or isinstance(beta, Levels):
        return delta, beta
    return delta, probability("beta", beta, sample.dtype, "nearest", **checks)


def is_auto(beta: Any) -> bool:
    """Whether the data are to choose the level."""
    return isinstance(beta, str) and beta == AUTO


def chosen_levels(method: Method, delta: Any, num_tasks: int) -> Levels:
    """The levels among which a method chooses for "auto"."""
    betas = method.choice
    each = divided(delta, len(betas), lambda whole: calibrated(num_tasks, whole, betas))
    return Levels(np.asarray(betas, delta.dtype), each)


def proven(delta: Any, validate: bool) -> Any:
    """The delta at which violations are counted; a traced one counts as at most ``MOST_DELTA``."""
    if validate and is_concrete(delta) and MOST_DELTA < float(delta) < 1:
        raise ValueError(f"delta is {float(delta):.6g}; for tasks drawn within strata at most {MOST_DELTA} is proved")
    xp = np if is_concrete(delta) else jnp
    return xp.where(delta < 1, xp.minimum(delta, delta.dtype.type(MOST_DELTA)), delta)


# --- thresholds, and bounds that are given ----------------------------------------------------------------------------


def prepare_thresholds(thresholds: Any, dtype: np.dtype, validate: bool) -> Any:
    """Thresholds [t] rounded up."""
    if isinstance(thresholds, list | tuple) and not is_concrete(thresholds):
        # Entry by entry: an array of them would not show which numbers have been rounded by the trace.
        return jnp.concatenate([jnp.asarray(prepare_thresholds(t, dtype, validate)) for t in thresholds])
    if validate and is_concrete(thresholds):
        check_finite("thresholds", thresholds, dtype=dtype)
    else:
        require_real("thresholds", thresholds)
    return as_row("thresholds", known(thresholds, dtype, "up"))


def thresholds_of(sample: Sample, thresholds: Any, validate: bool) -> Any:
    """Thresholds [t] rounded up. Warn of those above the support, and if all are below it, where a grid may begin."""
    row = prepare_thresholds(thresholds, sample.dtype, validate)
    if not (validate and is_concrete(thresholds, sample.low, sample.high)):
        return row
    array, low, high = np.asarray(thresholds, np.float64).ravel(), float(sample.low), float(sample.high)
    above, ends = array[array > high], f"support ({low:.6g}, {high:.6g})"
    if above.size:
        value, several = above[0], "hold"
        why = f"above the {ends}: no policy reaches that; is it in another unit, such as per cent?"
    elif np.all(array < low):
        value, several = array.max(), "are up to"
        why = f"below the {ends}: every policy reaches that, whatever its returns"
    else:
        return row
    warn(f"thresholds {'is' if array.size == 1 else several} {value:.9g}, {why}")
    return row


def as_row(name: str, values: Any) -> Any:
    """A scalar or [t] as [t]."""
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"{name} have shape {values.shape}; expected a scalar or [t] with at least one entry")
    return values if values.ndim else values.reshape(1)


def given_bounds(
    lower_bounds: Any, delta: Any, beta: Any, validate: bool, *, zero_beta: bool
) -> tuple[Sample, Any, Any]:
    """A sample of lower bounds [..., n], rounded down; delta rounded down, and beta up.

    If a bound is NaN or +inf, all become NaN, which certifies nothing.
    """
    require_real("lower_bounds", lower_bounds)
    shape = np.shape(lower_bounds)
    if not shape or shape[-1] == 0:
        raise ValueError(f"lower_bounds have shape {shape}; expected [..., num_tasks] with at least one task")
    if validate and is_concrete(lower_bounds):
        array = np.asarray(lower_bounds, dtype=np.float64)
        refuse("lower_bounds", array, array < np.inf, "a finite number, or -inf for no bound")
    lower = known(lower_bounds, compute_dtype(lower_bounds), "down")
    xp, checks = np if isinstance(lower, np.ndarray) else jnp, {"validate": validate, "scalar": True}
    lower = xp.where(xp.all(lower < np.inf, axis=-1, keepdims=True), lower, np.asarray(np.nan, lower.dtype))
    delta = probability("delta", delta, lower.dtype, "down", **checks)
    beta = probability("beta", beta, lower.dtype, "up", zero_allowed=zero_beta, **checks)
    return sample_of_numbers(lower), delta, beta
