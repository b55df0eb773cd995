"""Arguments of the certificates: checked, and rounded to the safe side."""

import warnings
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_finite, is_concrete, refuse, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import prepare
from jaxcert.certificates._axes import check_axes
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._method import Method
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import cast, compute_dtype
from jaxcert.returns._prepared import Prepared, describe_index, probability, returns_dtype
from jaxcert.returns.summaries import Summary

Described = TypeVar("Described", Bound, Method)


def choose(kind: str, name: str, registry: dict[str, Described]) -> Described:
    """The entry of the registry with that name."""
    if name not in registry:
        raise ValueError(f"{kind} is {name!r}; expected one of {', '.join(registry)}")
    return registry[name]


def level_of_certificate(returns: Any, delta: Any, validate: bool) -> jax.Array:
    """Delta rounded down, in the type that these returns are computed in."""
    _check_returns_shape(returns)
    return probability("delta", delta, returns_dtype(returns), "down", validate=validate, scalar=True)


def prepare_returns(
    bound: Bound, method: Method, returns: Any, support: Any, delta: jax.Array, beta: Any, where: Any, validate: bool
) -> Prepared:
    """The returns [..., n, m] or a summary, with all that the bound needs beside them."""
    if beta is None:
        beta = method.default_beta(delta, count_tasks(returns))
    prepared = prepare(bound, returns, beta, support, where, validate, scalar=True)
    if validate and not isinstance(returns, Summary):
        check_axes(prepared.returns, prepared.where)
        _check_sums(prepared, support)
    return prepared


def prepare_lower_bounds(lower_bounds: Any, validate: bool) -> jax.Array:
    """Lower bounds [..., n] rounded down; NaN, a violation, in place of +inf."""
    require_real("lower_bounds", lower_bounds)
    shape = np.shape(lower_bounds)
    if not shape or shape[-1] == 0:
        raise ValueError(f"lower_bounds have shape {shape}; expected [..., num_tasks] with at least one task")
    if validate and is_concrete(lower_bounds):
        array = np.asarray(lower_bounds, dtype=np.float64)
        refuse("lower_bounds", array, array < np.inf, "a finite number, or -inf for no bound")
    lower = cast(lower_bounds, compute_dtype(lower_bounds), "down")
    return jnp.where(lower < jnp.inf, lower, jnp.nan)


def prepare_thresholds(thresholds: Any, dtype: np.dtype, validate: bool) -> jax.Array:
    """Thresholds [t] rounded up."""
    if isinstance(thresholds, list | tuple) and not is_concrete(thresholds):
        # Entry by entry: an array of them would not show which numbers have been rounded by the trace.
        return jnp.concatenate([prepare_thresholds(entry, dtype, validate) for entry in thresholds])
    if validate and is_concrete(thresholds):
        check_finite("thresholds", thresholds, dtype=dtype)
    else:
        require_real("thresholds", thresholds)
    return as_row("thresholds", cast(thresholds, dtype, "up"))


def as_row(name: str, values: jax.Array) -> jax.Array:
    """A scalar or [t] as [t]."""
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"{name} have shape {values.shape}; expected a scalar or [t] with at least one entry")
    return values if values.ndim else values.reshape(1)


def count_tasks(returns: Any) -> int:
    """n, of returns or a summary."""
    return returns.valid.shape[-1] if isinstance(returns, Summary) else np.shape(returns)[-2]


def warned(certificate: Certificate) -> Certificate:
    """The certificate, with a warning where its method is not sound by itself, if the values are concrete."""
    method, n = METHODS[certificate.method], certificate.num_tasks
    if method.caveat is not None and is_concrete(certificate.beta, certificate.delta):
        beta, delta = np.asarray(certificate.beta), np.asarray(certificate.delta)
        if not np.all(method.is_sound(beta, delta, n)):
            caveat = method.caveat(float(beta), float(delta), n)
            warnings.warn(f"{method.name} at {caveat}", UserWarning, stacklevel=3)
    return certificate


def _check_returns_shape(returns: Any) -> None:
    """Raise ValueError unless the returns have tasks and rollouts."""
    if isinstance(returns, Summary):
        return
    if not hasattr(returns, "shape"):
        require_real("returns", returns)
    shape = np.shape(returns)
    if len(shape) < 2:
        raise ValueError(f"returns have shape {shape}; expected [..., num_tasks, num_rollouts]")
    if shape[-2] == 0:
        raise ValueError(f"returns of shape {shape} hold no tasks; expected [..., num_tasks, num_rollouts]")


def _check_sums(prepared: Prepared, support) -> None:
    """Raise ValueError if the returns of a task sum to more than the type can hold; only a wide support makes that."""
    x, where = prepared.returns, prepared.where
    if not is_concrete(x, where, *support):
        return
    (low, high), largest = map(float, support), float(jnp.finfo(x.dtype).max)
    if np.isinf(high) or high / largest - low / largest <= 1 / x.shape[-1]:
        return
    with np.errstate(over="ignore"):
        excess = np.asarray(x, np.float64) - low
        sums = np.sum(excess, axis=-1, where=True if where is None else np.asarray(where))
    if np.any(sums >= largest):
        task = describe_index(np.argwhere(sums >= largest)[0])
        raise ValueError(
            f"the returns of task {task} sum to more than {x.dtype} can hold; certify them in a larger unit"
        )
