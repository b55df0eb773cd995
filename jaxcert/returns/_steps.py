"""Returns step by step: the sum of rewards so far, and the values that it can still reach."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from jaxcert._types import Array, Numeric
from jaxcert._validation import is_traced
from jaxcert.numerics import _summation
from jaxcert.numerics._rounding import Side, cast


def as_rewards(r_t: ArrayLike) -> jax.Array:
    """Rewards [..., T] in float32, rounded down, unless they are float64 where 64-bit types are on."""
    values = r_t if isinstance(r_t, jax.Array) else np.asarray(r_t)
    if jnp.issubdtype(values.dtype, jnp.complexfloating):
        raise ValueError(f"r_t must be real, got {values.dtype}")
    _check_has_steps("r_t", values)
    default = jnp.result_type(float)
    return _summation.as_rewards(values, np.dtype(default if values.dtype == np.float64 else np.float32))


def as_events(name: str, events: ArrayLike) -> jax.Array:
    """Check events [..., T]; only bool is accepted, since NaN and -1 would both become True."""
    flags = jnp.asarray(events)
    if flags.dtype != jnp.bool_:
        raise ValueError(f"{name} must be bool, got {flags.dtype}")
    _check_has_steps(name, flags)
    return flags


def as_scalar(
    name: str, value: Numeric, valid: Callable[[Any], Any], expected: str, side: Side = "nearest"
) -> jax.Array:
    """Check a scalar: an invalid one raises if it is concrete, and becomes NaN if it is traced."""
    dtype = jnp.result_type(float)
    if jnp.shape(value) != ():
        raise ValueError(f"{name} must be a scalar, got shape {jnp.shape(value)}")
    if not is_traced(value) and not valid(np.asarray(value, dtype=dtype)):
        raise ValueError(f"{name} must be {expected}, got {value}")
    scalar = cast(value, dtype, side)
    return jnp.where(valid(scalar), scalar, jnp.nan)


def first_index(events: jax.Array) -> jax.Array:
    """Find the index of the first event, int32 [..., 1]; T where there is none."""
    num_steps = events.shape[-1]
    index = jnp.argmax(events, axis=-1, keepdims=True).astype(jnp.int32)
    return jnp.where(jnp.any(events, axis=-1, keepdims=True), index, jnp.int32(num_steps))


def step_index(shape: tuple[int, ...]) -> jax.Array:
    """Count the steps from 0, int32 [..., T]."""
    return lax.broadcasted_iota(jnp.int32, shape, len(shape) - 1)


def counted_steps(done_t: ArrayLike | None, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    """Mark the steps up to and including the first done, [..., T], and the rollouts that have one, [...]."""
    if done_t is None:
        return jnp.ones(shape, dtype=bool), jnp.zeros(shape[:-1], dtype=bool)
    done = as_events("done_t", done_t)
    check_same_shape("done_t", done, shape)
    return step_index(shape) <= first_index(done), jnp.any(done, axis=-1)


def check_same_shape(name: str, array: jax.Array, shape: tuple[int, ...]) -> None:
    """Raise unless the array has the shape of the other step-indexed arrays."""
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, time last, got {array.shape}")


def _check_has_steps(name: str, array: jax.Array | np.ndarray) -> None:
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have shape [..., T] with at least one step, got {array.shape}")


def reach(target_t: Array, done_t: Array | None = None) -> jax.Array:
    r"""1 if a target is reached at a step that counts, else 0.

    .. math:: G = \max_{k \le H} 1\{target_k\}, \qquad H = \min\{k : done_k\} \cup \{T-1\}

    Monotone in the prefix: always; once reached, it stays reached.
    Upper bounds: allowed on whole rollouts only. On prefixes they need undecided rollouts counted as 1.

    Args:
        target_t: bool, [..., T], time last: whether the state after step k is a target.
        done_t: bool, [..., T], true at the last step of an episode; a target at that step counts, later
            ones do not. None if every rollout lasts T steps.

    Returns:
        Success, float32 [...], 0 or 1, for `support=(0, 1)` and any bound, including Clopper-Pearson.

    Raises:
        ValueError: if an argument is not bool, `target_t` has no step, or `done_t` has another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> target_t = jnp.array([[False, True, False], [False, False, True]])
        >>> done_t = jnp.array([[False, True, False], [False, True, False]])
        >>> print(reach(target_t, done_t))
        [1. 0.]

    Reference:
        Baier & Katoen, Principles of Model Checking, 2008, section 10.1.1.
    """
    target = as_events("target_t", target_t)
    counted, _ = counted_steps(done_t, target.shape)
    return jnp.any(target & counted, axis=-1).astype(jnp.float32)


def reach_avoid(target_t: Array, avoid_t: Array, done_t: Array | None = None) -> jax.Array:
    r"""1 if a target is reached at a step that counts, with no avoided state until then, else 0.

    .. math:: G = \max_{k \le H} 1\{target_k\} \prod_{s \le k} (1 - 1\{avoid_s\}),
        \qquad H = \min\{k : done_k\} \cup \{T-1\}

    A state that is both target and avoided is a failure, the conservative reading of "no avoided state
    before". For the until operator, which lets such a state succeed, pass ``avoid_t & ~target_t``.

    Monotone in the prefix: always; a decided outcome stays decided.
    Upper bounds: allowed on whole rollouts only. On prefixes they need undecided rollouts counted as 1.

    Args:
        target_t: bool, [..., T], time last: whether the state after step k is a target.
        avoid_t: bool, [..., T]: whether the state after step k is to be avoided. Avoided states after the
            target has been reached do no harm.
        done_t: bool, [..., T], true at the last step of an episode; events at that step count, later
            ones do not. None if every rollout lasts T steps.

    Returns:
        Success, float32 [...], 0 or 1, for `support=(0, 1)` and any bound, including Clopper-Pearson.

    Raises:
        ValueError: if an argument is not bool, `target_t` has no step, or the shapes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> target_t = jnp.array([[False, True, False], [False, False, True]])
        >>> avoid_t = jnp.array([[False, False, True], [False, True, False]])
        >>> print(reach_avoid(target_t, avoid_t))
        [1. 0.]

    Reference:
        Baier & Katoen, Principles of Model Checking, 2008, section 10.1.1 (constrained reachability).
    """
    target, avoid = as_events("target_t", target_t), as_events("avoid_t", avoid_t)
    check_same_shape("avoid_t", avoid, target.shape)
    counted, _ = counted_steps(done_t, target.shape)
    clear = step_index(target.shape) < first_index(avoid)
    return jnp.any(target & counted & clear, axis=-1).astype(jnp.float32)
