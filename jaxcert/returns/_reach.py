"""Reachability: from events [..., T] to success 0 or 1 per rollout [...]."""

import chex
import jax
import jax.numpy as jnp

from jaxcert.returns._steps import as_events, check_same_shape, counted_steps, first_index, step_index


def reach(target_t: chex.Array, done_t: chex.Array | None = None) -> jax.Array:
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


def reach_avoid(target_t: chex.Array, avoid_t: chex.Array, done_t: chex.Array | None = None) -> jax.Array:
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
