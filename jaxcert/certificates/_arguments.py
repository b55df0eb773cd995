"""Arguments of the certificates: checked, and rounded to the safe side."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array
from jaxcert._validation import check_finite, is_concrete, refuse, require_real, warn
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._method import Levels, Method
from jaxcert.numerics._calibration import calibrated
from jaxcert.numerics._rounding import cast_host, compute_dtype, in_unit, known, unit_roundoff
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import as_successes, is_successes, probability
from jaxcert.returns._sample import Sample, padded_to, power_of_two, sample_of_numbers
from jaxcert.returns.summaries import Histogram

Described = TypeVar("Described")
AUTO = "auto"
# Returns of one policy, [..., n, m], a summary of them, or returns of two policies.
Returns = Array | Histogram | Paired


def choose(kind: str, name: str, registry: dict[str, Described]) -> Described:
    """The entry of the registry with that name."""
    if not isinstance(name, str) or name not in registry:
        raise ValueError(f"{kind} is {name!r}; expected one of {', '.join(registry)}")
    return registry[name]


def default_bound(bound: str | None, returns: Any) -> str:
    """The name of a bound per task; if none is given, the default for successes, of type bool, or for others."""
    return bound or (CLOPPER_PEARSON.name if is_successes(returns) else BETTING.name)


def levels_of(
    method: Method, delta: Any, beta: Any, sample: Sample, validate: bool, *, chooses: bool = False
) -> tuple[Any, Any]:
    """Delta rounded down, and beta, by default the method's own, to nearest, since the rounded one is used.

    Beta is None for a method that chooses one for each threshold. ``chooses``: whether it may be "auto".
    """
    if sample.is_summary and not method.summaries:
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


def bound_for(name: str | None, returns: Any, support: Any, where: Any) -> tuple[Bound, Any]:
    """The bound with that name, or the default for these returns; and the returns, as ``as_successes``."""
    returns = as_successes(returns, support, where, name)
    return choose("bound", default_bound(name, returns), BOUNDS), returns


def divided(delta: Any, parts: int, exact: Callable[[float], float]) -> Any:
    """A delta for each of several events, rounded down: exact(delta) if it can be read, else delta / parts."""
    if not is_concrete(delta):
        return part_of(delta, np.asarray(1 / parts, delta.dtype))
    whole = float(delta)
    return cast_host(np.asarray(exact(whole) if 0 < whole < 1 else np.nan), delta.dtype, "down")


def part_of(delta: Any, share: Any) -> Any:
    """A share of delta, rounded down, for shares of its type to nearest; all of it for a share of 1.

    NaN for an invalid delta, a part of which might be a valid one.
    """
    xp = np if is_concrete(delta, share) else jnp
    whole = xp.where(in_unit(delta), delta, delta.dtype.type(np.nan))
    return xp.where(share < 1, whole * share * delta.dtype.type(1 - 8 * unit_roundoff(delta.dtype)), whole)


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


_FEWEST_ROWS = 16


def padded_rows(row: Any, sample: Sample, fewest: int = _FEWEST_ROWS) -> Any:
    """Known numbers [t] that were fixed beforehand, in front of repetitions of the last, where the sample is padded."""
    if not (sample.padded and isinstance(row, np.ndarray)):
        return row
    return padded_to(row, (power_of_two(len(row), fewest),), row[-1])


def as_row(name: str, values: Any) -> Any:
    """A scalar or [t] as [t]."""
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"{name} have shape {values.shape}; expected a scalar or [t] with at least one entry")
    return values if values.ndim else values.reshape(1)
