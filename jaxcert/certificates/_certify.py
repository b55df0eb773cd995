"""From returns, or from lower bounds, to certificates: one compiled call each."""

import warnings
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_finite, is_concrete, refuse, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import check_level, check_scalar
from jaxcert.certificates._axes import check_axes
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._compiled import certify_given, certify_level, certify_returns
from jaxcert.certificates._method import Method
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import cast, cast_level, compute_dtype
from jaxcert.rollouts._returns import Prepared, describe_index, returns_dtype
from jaxcert.rollouts.summaries import Summary

Described = TypeVar("Described", Bound, Method)


def certify(
    returns: Any,
    thresholds: Any,
    *,
    support: tuple[Any, Any] | None = None,
    delta: Any,
    beta: Any = None,
    bound: str = "betting",
    method: str = "binomial",
    where: Any = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy from its returns on sampled tasks.

    At each threshold B, fixed before the data are seen:

    .. math:: P\big[\, P_{M \sim D}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta,

    over the n sampled tasks and their rollouts together (one-sided), where J is a task's expected return. Each task
    gets a lower bound L on its J at level beta; k(B) counts the tasks with L < B; the method turns k into epsilon.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks; leading axes are batched.
            Or a summary of them, a ``Histogram`` or ``Moments`` of ``jaxcert.rollouts.summaries``.
        thresholds: float[t], or a scalar for one; wanted expected returns B.
        support: (a, b), declared before the data are seen; every return lies in it. b may be infinite for "betting"
            and "dkw". A summary has its own.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1); a scalar. By default 0.05 for "binomial" and
            delta / n for "scenario".
        bound: the name of one of ``jaxcert.bounds``; "clopper_pearson" is for binary returns.
        method: "binomial", or "scenario", the paper's Theorem 5.1. The latter reports the larger of both risks, which
            is sound for every beta; the theorem alone is sound only up to beta = delta / n.
        where: bool[..., n, m], which rollouts count; all by default. At least one per task.
        validate: raise for invalid values that are concrete. Otherwise, and for traced values, they count against the
            certificate, and the status says so.

    delta, beta, thresholds and support may be traced: other values do not trigger a recompilation. A traced Python
    number has been rounded to float32 unless 64-bit types are on, so it is moved by one float to its safe side. Nothing
    shows whether a float64 array was rounded in this way, so round it beforehand (``numerics.cast``).

    Returns:
        A ``Certificate`` with arrays [..., t].

    Raises:
        ValueError: for invalid shapes, names or values, with their name and index; also if the axes look swapped.

    Warns:
        UserWarning: "scenario" with beta > delta / n.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify(returns, jnp.asarray([0.5, 0.7]), support=(0.0, 1.0), delta=0.01)
        >>> print(certificate.num_violations, np.asarray(certificate.safety, np.float64).round(3))
        [13 97] [0.876 0.401]

    Reference: Schnitzer et al. (2026), Theorem 5.1 ("scenario"); the theory page ("binomial").
    """
    per_task, chosen = choose("bound", bound, BOUNDS), choose("method", method, METHODS)
    check_returns_shape(returns)
    delta = _delta(delta, returns, validate)
    prepared = _prepare(per_task, chosen, returns, support, delta, beta, where, validate)
    thresholds = _thresholds(thresholds, prepared.dtype, validate)
    certificate = certify_returns(per_task, chosen, prepared, thresholds, delta)
    if validate:
        warn_out_of_range(certificate)
    return certificate


def certify_lower_bounds(
    lower_bounds: Any,
    thresholds: Any,
    *,
    delta: Any,
    beta: Any,
    method: str = "binomial",
    validate: bool = True,
) -> Certificate:
    """Certify from lower bounds that were computed elsewhere.

    As ``certify``, with the lower bounds computed by the caller: each L is a lower confidence bound on its own task's J
    that fails with probability at most beta given the task, and the tasks are i.i.d. A bound that is NaN counts as a
    violation, never as a pass.

    Args:
        lower_bounds: float[..., n]; -inf where nothing is known.
        thresholds: float[t], or a scalar for one.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1), or 0 for "binomial" if performances are known exactly.
        method: as in ``certify``.
        validate: as in ``certify``.

    Returns:
        A ``Certificate`` with arrays [..., t] and ``bound`` "given".

    Raises:
        ValueError: for invalid shapes, names or values (including NaN and +inf among the lower bounds).

    Example:
        >>> import jax.numpy as jnp
        >>> certificate = certify_lower_bounds(jnp.arange(100.0), 5.0, delta=0.01, beta=0.05)
        >>> print(int(certificate.num_violations[0]), f"{certificate.safety[0]:.4f}")
        5 0.8675
    """
    chosen = choose("method", method, METHODS)
    require_real("lower_bounds", lower_bounds)
    shape = np.shape(lower_bounds)
    if not shape or shape[-1] == 0:
        raise ValueError(f"lower_bounds have shape {shape}; expected [..., num_tasks] with at least one task")
    dtype = compute_dtype(lower_bounds)
    check_scalar("delta", delta)
    check_scalar("beta", beta)
    if validate:
        check_level("delta", delta, dtype)
        check_level("beta", beta, dtype, zero_allowed=chosen.zero_beta)
        _check_lower_bounds(lower_bounds)
    lower = cast(lower_bounds, dtype, "down")
    lower = jnp.where(lower < jnp.inf, lower, jnp.nan)
    levels = _thresholds(thresholds, dtype, validate)
    certificate = certify_given(
        "given", chosen, lower, levels, cast_level(beta, dtype, "up"), cast_level(delta, dtype, "down")
    )
    if validate:
        warn_out_of_range(certificate)
    return certificate


def certify_safety_level(
    returns: Any,
    safety: Any,
    *,
    support: tuple[Any, Any] | None = None,
    delta: Any,
    beta: Any = None,
    bound: str = "betting",
    method: str = "binomial",
    where: Any = None,
    validate: bool = True,
) -> Certificate:
    r"""The performance certified on a given share of new tasks: a tolerance limit.

    With k* the largest k at which 1 - epsilon(k) is at least the wanted safety s, and L_(i) the ordered lower bounds,

    .. math:: \hat B = \max(a, L_{(k^* + 1)}), \qquad P\big[\, P_{M \sim D}[J_M \ge \hat B] \ge s \,\big] \ge 1 - \delta

    (one-sided); a if there is no k*. Only s is fixed before the data are seen: no correction for looking at the curve.

    Args:
        returns: float[..., n, m], as in ``certify``.
        safety: s in (0, 1), a scalar, or float[t] for several, each a certificate of its own.
        support: (a, b), as in ``certify``.
        delta: failure probability, in (0, 1); a scalar.
        beta: as in ``certify``. By default, for "binomial", the largest value that costs nothing,
            1 - U(k*; n, delta)/(1 - s) with k* as at 0.05: 0.08 at n = 200, s = 0.9, delta = 0.01. If there is no k*
            at 0.05, the largest value with k* = 0. For several safeties, the smallest of theirs.
        bound: as in ``certify``.
        method: as in ``certify``.
        where: as in ``certify``.
        validate: as in ``certify``.

    Returns:
        A ``Certificate`` whose thresholds, [..., t], are the certified performances and whose safety is the wanted one;
        under a transformation, safety 0 where an argument or too many of the returns are invalid.

    Raises:
        ValueError: as ``certify``, and for a safety outside (0, 1).

    Example:
        >>> import jax.numpy as jnp
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify_safety_level(returns, 0.9, support=(0.0, 1.0), delta=0.01)
        >>> print(f"{certificate.thresholds[0]:.3f}")
        0.497

    Reference: the theory page, section on a fixed safety level.
    """
    per_task, chosen = choose("bound", bound, BOUNDS), choose("method", method, METHODS)
    check_returns_shape(returns)
    delta = _delta(delta, returns, validate)
    require_real("safety", safety)
    if validate:
        check_level("safety", safety, delta.dtype)
    wanted, solution = _row("safety", cast_level(safety, delta.dtype, "up")), None
    if beta is None and chosen.best_beta is not None:
        beta, solution = chosen.best_beta(_num_tasks(returns), delta, wanted)
    prepared = _prepare(per_task, chosen, returns, support, delta, beta, where, validate)
    certificate = certify_level(per_task, chosen, prepared, wanted, solution, delta)
    if validate:
        warn_out_of_range(certificate)
    return certificate


# --- arguments ----------------------------------------------------------------------------------------------------


def choose(kind: str, name: str, registry: dict[str, Described]) -> Described:
    """The entry of the registry with that name."""
    if name not in registry:
        raise ValueError(f"{kind} is {name!r}; expected one of {', '.join(registry)}")
    return registry[name]


def check_returns_shape(returns: Any) -> None:
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


def _delta(delta: Any, returns: Any, validate: bool) -> jax.Array:
    """Rounded down, in the type of the computation."""
    dtype = returns_dtype(returns)
    check_scalar("delta", delta)
    if validate:
        check_level("delta", delta, dtype)
    return cast_level(delta, dtype, "down")


def _prepare(bound: Bound, method: Method, returns, support, delta: jax.Array, beta, where, validate: bool) -> Prepared:
    if beta is None:
        beta = method.default_beta(delta, _num_tasks(returns))
    else:
        check_scalar("beta", beta)
    prepared = prepare(bound, returns, beta, support, where, validate)
    if validate and not isinstance(prepared.returns, Summary):
        check_axes(prepared.returns, prepared.where)
        _check_sums(prepared, support)
    return prepared


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


def _num_tasks(returns: Any) -> int:
    return returns.valid.shape[-1] if isinstance(returns, Summary) else np.shape(returns)[-2]


def _check_lower_bounds(lower_bounds: Any) -> None:
    if is_concrete(lower_bounds):
        array = np.asarray(lower_bounds, dtype=np.float64)
        refuse("lower_bounds", array, array < np.inf, "a finite number, or -inf for no bound")


def _thresholds(thresholds: Any, dtype: np.dtype, validate: bool) -> jax.Array:
    if isinstance(thresholds, list | tuple) and not is_concrete(thresholds):
        # Entry by entry: an array of them would not show which numbers have been rounded by the trace.
        return jnp.concatenate([_thresholds(entry, dtype, validate) for entry in thresholds])
    require_real("thresholds", thresholds)
    if validate and is_concrete(thresholds):
        check_finite("thresholds", thresholds, dtype=dtype)
    return _row("thresholds", cast(thresholds, dtype, "up"))


def _row(name: str, values: jax.Array) -> jax.Array:
    if values.ndim > 1 or values.size == 0:
        raise ValueError(f"{name} have shape {values.shape}; expected a scalar or [t] with at least one entry")
    return values if values.ndim else values.reshape(1)


def warn_out_of_range(certificate: Certificate) -> None:
    """Warn where the method is not sound by itself, if the values are concrete."""
    method, n = METHODS[certificate.method], certificate.num_tasks
    if method.caveat is None or not is_concrete(certificate.beta, certificate.delta):
        return
    beta, delta = np.asarray(certificate.beta), np.asarray(certificate.delta)
    if not np.all(method.is_sound(beta, delta, n)):
        caveat = method.caveat(float(beta), float(delta), n)
        warnings.warn(f"{method.name} at {caveat}", UserWarning, stacklevel=3)
