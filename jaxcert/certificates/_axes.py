"""Detection of returns with swapped axes."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete


def check_axes(returns: jax.Array, where: jax.Array | None) -> None:
    """Raise ValueError if the columns of some [n, m] differ systematically and its rows do not.

    Rows are tasks and may differ. Columns are rollouts, exchangeable across tasks, so that they differ by chance only.
    If columns clearly differ, either the axes are swapped or rollouts share randomness across tasks; the certificate
    does not hold in either case. The analysis of variance has a threshold far beyond chance; it needs at least three
    rows and three columns.
    """
    *_, n, m = returns.shape
    if min(n, m) < 3 or not is_concrete(returns, where):
        return
    if _swapped(returns, where):
        raise ValueError(
            f"returns of shape {returns.shape} look as if their axes were swapped: rollouts (the last axis) differ "
            f"systematically, tasks do not; expected [..., num_tasks, num_rollouts]. If rollout j shares its "
            "randomness across tasks, the tasks are not independent and nothing can be certified (validate=False "
            "skips this check)"
        )


# Up to this many returns NumPy takes milliseconds.
_SMALL = 2**20


def _swapped(x: jax.Array, where: jax.Array | None) -> bool:
    if x.size <= _SMALL:
        # NumPy compiles nothing for a new shape. Double precision, because it adds the rows one after the other.
        host = np.asarray(x, np.float64), None if where is None else np.asarray(where)
        with np.errstate(all="ignore"):
            return bool(np.any(_look_swapped(np, *host, float(jnp.finfo(x.dtype).eps))))
    with jax.ensure_compile_time_eval():  # the returns may be concrete while something else is traced
        return bool(_look_swapped_on_device(x, where).any())


@jax.jit
def _look_swapped_on_device(x: jax.Array, where: jax.Array | None) -> jax.Array:
    return _look_swapped(jnp, x, where, float(jnp.finfo(x.dtype).eps))


def _look_swapped(xp: ModuleType, x: Any, where: Any, eps: float) -> Any:
    mask = xp.ones(x.shape, bool) if where is None else where
    rows, row_spread = _variance_ratio(xp, x, mask, eps, axis=-1)
    columns, column_spread = _variance_ratio(xp, x, mask, eps, axis=-2)
    # About 12 standard deviations of the ratio under no effect, and more for few groups.
    far_beyond_chance = 1 + 12 * column_spread + 30 * column_spread**2
    return (columns > far_beyond_chance) & (rows < 1 + 3 * row_spread)


def _variance_ratio(xp: ModuleType, x: Any, mask: Any, eps: float, *, axis: int) -> tuple[Any, Any]:
    """The F ratio of a one-way analysis of variance, and roughly its standard deviation if the groups do not differ.

    Each group lies along ``axis``. Empty groups are ignored; one or two groups count as equal.
    """
    x = xp.where(mask, x, xp.zeros((), x.dtype))
    size = xp.sum(mask, axis=axis, dtype=x.dtype)
    count = xp.sum(size, axis=-1)
    others = xp.maximum(xp.sum(size > 0, axis=-1, dtype=x.dtype) - 1, 1)
    means = xp.sum(x, axis=axis) / xp.maximum(size, 1)
    grand_mean = xp.sum(x, axis=(-2, -1)) / xp.maximum(count, 1)
    between = xp.sum(size * xp.square(means - grand_mean[..., None]), axis=-1) / others
    spread = xp.where(mask, x - xp.expand_dims(means, axis), xp.zeros((), x.dtype))
    within = xp.sum(xp.square(spread), axis=(-2, -1)) / xp.maximum(count - others - 1, 1)
    # Equal returns must not show a variance that comes from rounding alone.
    scale = xp.max(xp.abs(x), axis=(-2, -1))
    noise = x.shape[axis] * xp.square(8 * eps * scale)
    ratio = between / xp.maximum(within + noise, float(jnp.finfo(x.dtype).tiny))
    return xp.where(others > 1, ratio, xp.zeros((), x.dtype)), xp.sqrt(2 / others)
