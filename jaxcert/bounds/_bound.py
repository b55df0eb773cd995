"""How a bound is described and applied; the same for all of them."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit, is_concrete
from jaxcert.bounds._data import Rollouts, Support, check_values, rollouts, split_support, to_device


@dataclasses.dataclass(frozen=True)
class Bound:
    """A per-task lower bound as a static description; hashable, so that it can select a compiled function.

    Attributes:
        name: as in ``certify(bound=...)``.
        lower: from masked rollouts to a lower bound on the mean per task.
        min_rollouts: the fewest rollouts per task for which the bound is defined.
        needs_width: whether b must be finite.
        binary: whether the returns must be 0 or 1.
    """

    name: str
    lower: Callable[[Rollouts], jax.Array]
    min_rollouts: int = 1
    needs_width: bool = False
    binary: bool = False


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    x, beta, low, high, where = prepare(bound, x, beta, support, where, validate)
    tasks = x.shape[:-1]
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    return _evaluate(bound, x, beta, low, high, where)


def prepare(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> tuple:
    """Everything that is refused before a bound is evaluated; the arguments on the device, rounded safely."""
    _check_bound_support(bound, support)
    arrays = to_device(x, beta, support, where)
    if arrays[0].shape[-1] < bound.min_rollouts:
        raise ValueError(
            f"returns have {arrays[0].shape[-1]} rollout per task; {bound.name} needs at least {bound.min_rollouts}"
        )
    if validate:
        if is_concrete(beta):
            check_open_unit("beta", beta, dtype=arrays[0].dtype)
        _check_range(support, arrays[0].dtype)
        # Host values are looked at as they are: on the way to the device some would be rounded into the support.
        check_values(x if isinstance(x, jax.Array) else np.asarray(x), *support, arrays[-1], binary=bound.binary)
        _check_counts(bound, arrays[-1])
    return arrays


def _check_range(support: Support, dtype: np.dtype) -> None:
    if is_concrete(*support):
        for end in support:
            if np.isfinite(float(end)) and abs(float(end)) > float(jnp.finfo(dtype).max):
                raise ValueError(f"support holds {float(end):g}; expected numbers within the range of {dtype}")


def _check_bound_support(bound: Bound, support: Support) -> None:
    low, high = split_support(support)
    if not is_concrete(low, high):
        return
    if bound.binary and (float(low), float(high)) != (0.0, 1.0):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} expects binary returns with support (0, 1)")
    if bound.needs_width and not np.isfinite(float(high)):
        raise ValueError(f"support is ({low:g}, {high:g}); {bound.name} needs a finite upper end")


def _check_counts(bound: Bound, where: jax.Array | None) -> None:
    if where is None or bound.min_rollouts == 1 or not is_concrete(where):
        return
    counts = np.asarray(where).sum(axis=-1)
    few = np.argwhere(counts < bound.min_rollouts)
    if few.size:
        task = few[0].tolist()
        raise ValueError(
            f"task {task[0] if len(task) == 1 else tuple(task)} has {counts[tuple(few[0])]} rollout that is not "
            f"masked; {bound.name} needs at least {bound.min_rollouts}"
        )


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(bound: Bound, x, beta, low, high, where) -> jax.Array:
    return evaluate(bound, x, beta, low, high, where)


def evaluate(bound: Bound, x, beta, low, high, where) -> jax.Array:
    """The bound on prepared arguments, without any check: bad values fail closed (-inf)."""
    data = rollouts(x, beta, low, high, where, binary=bound.binary)
    enough = data.num_rollouts >= bound.min_rollouts
    return jnp.where(enough, bound.lower(data), -jnp.inf)
