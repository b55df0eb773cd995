"""Batched root finding that returns a point on a verified side of the root."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._rounding import unit_roundoff


class SafeRoot(NamedTuple):
    """Roots, approached from their safe side.

    Attributes:
        root: a point at which ``residual <= 0`` was seen, or the given safe end.
        converged: whether the point is near the root; otherwise it is safe but loose.
    """

    root: jax.Array
    converged: jax.Array


class _State(NamedTuple):
    """The last point with its evaluation, and the bracket before that point is taken into account."""

    x: jax.Array
    residual: jax.Array
    aim: jax.Array
    safe: jax.Array
    unsafe: jax.Array
    spoilt: jax.Array
    step: jax.Array


def safe_root(
    evaluate: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    start: jax.Array,
    *,
    safe: jax.Array,
    unsafe: jax.Array,
    max_steps: int = 60,
) -> SafeRoot:
    """Find, for each element, the safe point nearest to the sign change of a monotone function.

    The search is an open method (Newton's, for example) in a bracket, with bisection where a step leaves it. For a
    concave residual every Newton iterate after the first lies on the safe side already. Only ``safe`` itself and points
    at which the residual was evaluated and found <= 0 are ever returned, so the result is as safe as the residual's own
    error bound, whatever the iteration did.

    Args:
        evaluate: x -> (residual, next point to try), elementwise; the residual is <= 0 between the root and ``safe``.
        start: first point, float[...], on either side of the root; broadcasts with ``safe`` and ``unsafe``.
        safe: end of the bracket at which the residual is known to be <= 0.
        unsafe: the other end.
        max_steps: bound on the evaluations; bisection gains one bit with each.

    Returns:
        ``SafeRoot(root, converged)``; ``root`` is ``safe`` itself where nothing better was verified, and ``converged``
        is False where the steps ran out or the residual was NaN. It is not differentiable: wrap it in a rule of
        implicit differentiation.

    Raises:
        ValueError: for a start or ends that are not float32 or float64.

    Example:
        >>> f = lambda x: (2.0 - x * x, 0.5 * (x + 2.0 / x))
        >>> result = safe_root(f, jnp.ones(1), safe=jnp.full(1, 2.0), unsafe=jnp.zeros(1))
        >>> bool(result.root[0] ** 2 >= 2.0), bool(result.converged[0])
        (True, True)
    """
    arrays = [jnp.asarray(value) for value in (start, safe, unsafe)]
    if any(array.dtype not in (jnp.float32, jnp.float64) for array in arrays):
        raise ValueError(f"start, safe and unsafe have dtypes {[str(a.dtype) for a in arrays]}; expected floats")
    start, safe, unsafe = jnp.broadcast_arrays(*(array.astype(arrays[0].dtype) for array in arrays))

    def body(state: _State) -> _State:
        # Only two arrays depend on the evaluation: XLA would repeat it for each further one.
        ends, done, proposal = _look(state)
        x = jnp.where(done, state.x, proposal)
        return _State(x, *evaluate(x), *ends, state.spoilt | jnp.isnan(state.residual), state.step + 1)

    def unfinished(state: _State) -> jax.Array:
        return jnp.any(~_look(state)[1]) & (state.step < max_steps)

    # The search begins as if the unsafe end had been evaluated and the start were the next point to try.
    begin = _State(unsafe, jnp.full_like(start, jnp.inf), start, safe, unsafe, jnp.isnan(unsafe), jnp.int32(0))
    final = jax.lax.while_loop(unfinished, body, begin)
    (root, _), done, _ = _look(final)
    return SafeRoot(root, done & ~(final.spoilt | jnp.isnan(final.residual)))


def _look(state: _State) -> tuple[tuple[jax.Array, jax.Array], jax.Array, jax.Array]:
    """The (safe, unsafe) ends updated with the last point, whether the search has ended, and the next point."""
    x, residual, aim, safe, unsafe, *_ = state
    is_safe = residual <= 0
    safe, unsafe = jnp.where(is_safe, x, safe), jnp.where(is_safe, unsafe, x)
    # A search has ended if its safe point would hardly move, or if the bracket has closed.
    close = 16 * unit_roundoff(x.dtype) * jnp.abs(x)
    done = (is_safe & (jnp.abs(aim - x) <= close)) | (jnp.abs(safe - unsafe) <= close)
    # Aim slightly to the safe side of the root, so that rounding noise cannot keep the point unsafe for ever; at the
    # midpoint instead of what does not lie strictly between the ends (or is NaN).
    aim = aim + jnp.sign(safe - unsafe) * close / 4
    inside = (aim > jnp.minimum(safe, unsafe)) & (aim < jnp.maximum(safe, unsafe))
    return (safe, unsafe), done, jnp.where(inside, aim, 0.5 * (safe + unsafe))


def halved(holds: Callable[[jax.Array], jax.Array], low: jax.Array, high: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Neighbouring integers from low to high, elementwise: at the first it does not hold, at the second it does.

    Both are arrays of one type, of integers or floats, and the ends are not looked at.
    """

    def halve(ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = (low + high) // 2
        good, is_open = holds(middle), high - low > 1
        return jnp.where(is_open & ~good, middle, low), jnp.where(is_open & good, middle, high)

    return jax.lax.while_loop(lambda ends: jnp.any(ends[1] - ends[0] > 1), halve, (low, high))
