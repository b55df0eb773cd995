"""Batched root finding that returns a point on a verified side of the root."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxcert.numerics._rounding import unit_roundoff


class _State(NamedTuple):
    """The last point with its evaluation, and the bracket before that point is taken into account."""

    x: jax.Array
    residual: jax.Array
    aim: jax.Array
    safe: jax.Array
    unsafe: jax.Array
    step: jax.Array


def safe_root(
    evaluate: Callable[[jax.Array], tuple[jax.Array, jax.Array]],
    start: jax.Array,
    *,
    safe: jax.Array,
    unsafe: jax.Array,
    max_steps: int = 60,
) -> jax.Array:
    """Find, for each element, the safe point nearest to the sign change of a monotone function.

    ``evaluate`` maps x to the residual, which is <= 0 between the root and ``safe``, and to the next point to try. A
    step that leaves the bracket is replaced by a bisection, which gains one bit. For a concave residual every iterate
    of Newton's method after the first is safe already. Only ``safe`` itself and points at which the residual was found
    <= 0 are ever returned, so the result is as safe as the residual's own error bound, whatever the iteration did. It
    needs a rule of implicit differentiation.
    """
    start, safe, unsafe = jnp.broadcast_arrays(start, safe, unsafe)

    def body(state: _State) -> _State:
        # Only two arrays depend on the evaluation: XLA would repeat it for each further one.
        ends, done, proposal = _look(state)
        x = jnp.where(done, state.x, proposal)
        return _State(x, *evaluate(x), *ends, state.step + 1)

    def unfinished(state: _State) -> jax.Array:
        return jnp.any(~_look(state)[1]) & (state.step < max_steps)

    # The search begins as if the unsafe end had been evaluated and the start were the next point to try.
    begin = _State(unsafe, jnp.full_like(start, jnp.inf), start, safe, unsafe, jnp.int32(0))
    return _look(jax.lax.while_loop(unfinished, body, begin))[0][0]


def _look(state: _State) -> tuple[tuple[jax.Array, jax.Array], jax.Array, jax.Array]:
    """The (safe, unsafe) ends updated with the last point, whether the search has ended, and the next point."""
    x, residual, aim, safe, unsafe, _ = state
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
