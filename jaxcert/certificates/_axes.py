"""Noticing returns whose axes are the wrong way round."""

import jax
import jax.numpy as jnp

from jaxcert._validation import is_concrete


def check_axes(returns: jax.Array, where: jax.Array | None) -> None:
    """Raise ValueError if the columns of some [n, m] differ systematically and its rows do not.

    Rows are tasks: they may differ or not. Columns are rollouts: exchangeable across tasks, so that they differ by
    chance only. If they clearly differ, either the axes are swapped or rollouts share randomness across tasks; the
    certificate does not hold in either case. The analysis of variance is set so that chance does not reach it; it needs
    at least three of each.
    """
    *_, n, m = returns.shape
    if min(n, m) < 3 or not is_concrete(returns, where):
        return
    with jax.ensure_compile_time_eval():  # readable returns may be met while something else is traced
        swapped = bool(_look_swapped(returns, where).any())
    if swapped:
        raise ValueError(
            f"returns of shape {returns.shape} look as if their axes were swapped: rollouts (the last axis) differ "
            f"systematically, tasks do not; expected [..., num_tasks, num_rollouts]. If rollout j shares its "
            "randomness across tasks, the tasks are not independent and nothing can be certified (validate=False "
            "skips this check)"
        )


@jax.jit
def _look_swapped(x: jax.Array, where: jax.Array | None = None) -> jax.Array:
    mask = jnp.ones(x.shape, bool) if where is None else where
    rows, row_spread = _variance_ratio(x, mask, axis=-1)
    columns, column_spread = _variance_ratio(x, mask, axis=-2)
    # About 12 standard deviations of the ratio without an effect, and more for few groups.
    far_beyond_chance = 1 + 12 * column_spread + 30 * column_spread**2
    return (columns > far_beyond_chance) & (rows < 1 + 3 * row_spread)


def _variance_ratio(x: jax.Array, mask: jax.Array, axis: int) -> tuple[jax.Array, jax.Array]:
    """The F ratio of a one-way analysis of variance and about its standard deviation where the groups do not differ.

    Each group lies along ``axis``; empty ones do not count, and up to two of them never differ.
    """
    x = jnp.where(mask, x, 0)
    size = jnp.sum(mask, axis=axis, dtype=x.dtype)
    count = jnp.sum(size, axis=-1)
    others = jnp.maximum(jnp.sum(size > 0, axis=-1, dtype=x.dtype) - 1, 1)
    means = jnp.sum(x, axis=axis) / jnp.maximum(size, 1)
    grand_mean = jnp.sum(x, axis=(-2, -1)) / jnp.maximum(count, 1)
    between = jnp.sum(size * jnp.square(means - grand_mean[..., None]), axis=-1) / others
    spread = jnp.where(mask, x - jnp.expand_dims(means, axis), 0)
    within = jnp.sum(jnp.square(spread), axis=(-2, -1)) / jnp.maximum(count - others - 1, 1)
    # What rounding alone makes of equal returns is no variance.
    scale = jnp.max(jnp.abs(x), axis=(-2, -1))
    noise = x.shape[axis] * jnp.square(8 * jnp.finfo(x.dtype).eps * scale)
    return jnp.where(others > 1, between / (within + noise), 0), jnp.sqrt(2 / others)
