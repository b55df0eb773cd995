"""Noticing returns whose axes are the wrong way round."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete


def check_axes(returns: jax.Array) -> None:
    """Raise ValueError if the columns of some [n, m] differ systematically and its rows do not.

    Rows are tasks: they may differ or not. Columns are rollouts: exchangeable across tasks, so that they differ by
    chance only. If they clearly differ, either the axes are swapped or rollouts share randomness across tasks; the
    certificate does not hold in either case. The analysis of variance is set so that chance does not reach it.
    """
    *_, n, m = returns.shape
    if min(n, m) < 3 or not is_concrete(returns):
        return
    swapped = np.asarray(_look_swapped(returns)).reshape(-1)
    if swapped.any():
        raise ValueError(
            f"returns of shape {returns.shape} look as if their axes were swapped: rollouts (the last axis) differ "
            f"systematically, tasks do not; expected [..., num_tasks, num_rollouts]. If rollout j shares its "
            "randomness across tasks, the tasks are not independent and nothing can be certified (validate=False "
            "skips this check)"
        )


@jax.jit
def _look_swapped(x: jax.Array) -> jax.Array:
    rows = _variance_ratio(x, axis=-1)
    columns = _variance_ratio(x, axis=-2)
    n, m = x.shape[-2:]
    return (columns > _far_beyond_chance(m)) & (rows < 1 + 3 * (2 / (n - 1)) ** 0.5)


def _variance_ratio(x: jax.Array, axis: int) -> jax.Array:
    """Variance of the group means over what chance gives them; each group lies along ``axis``."""
    within = jnp.mean(jnp.var(x, axis=axis, ddof=1), axis=-1)
    return jnp.var(jnp.mean(x, axis=axis), axis=-1, ddof=1) * x.shape[axis] / within


def _far_beyond_chance(groups: int) -> float:
    """About 12 standard deviations of the ratio without an effect, and more for few groups."""
    return 1 + 12 * (2 / (groups - 1)) ** 0.5 + 60 / (groups - 1)
