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
    rows = _variance_ratio(x, mask, axis=-1)
    columns = _variance_ratio(x, mask, axis=-2)
    n, m = x.shape[-2:]
    return (columns > _far_beyond_chance(m)) & (rows < 1 + 3 * (2 / (n - 1)) ** 0.5)


def _variance_ratio(x: jax.Array, mask: jax.Array, axis: int) -> jax.Array:
    """Variance of the group means over what chance gives them; each group lies along ``axis``."""
    x = jnp.where(mask, x, 0)
    size = jnp.maximum(jnp.sum(mask, axis=axis, dtype=x.dtype), 1)
    means = jnp.sum(x, axis=axis) / size
    spread = jnp.where(mask, x - jnp.expand_dims(means, axis), 0)
    within = jnp.sum(jnp.sum(spread * spread, axis=axis) / jnp.maximum(size - 1, 1), axis=-1) / means.shape[-1]
    # What rounding alone makes of equal returns is no variance.
    scale = jnp.max(jnp.abs(x), axis=(-2, -1))
    noise = x.shape[axis] * jnp.square(8 * jnp.finfo(x.dtype).eps * scale)
    return jnp.var(means, axis=-1, ddof=1) * jnp.mean(size, axis=-1) / (within + noise)


def _far_beyond_chance(groups: int) -> float:
    """About 12 standard deviations of the ratio without an effect, and more for few groups."""
    return 1 + 12 * (2 / (groups - 1)) ** 0.5 + 60 / (groups - 1)
