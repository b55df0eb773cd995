"""Returns padded to few shapes, so that tasks or rollouts of another number find a program that is there already.

Compiling a bound takes a second, and evaluating it on a few thousand returns less than a millisecond. Returns that can
be read here, up to ``_MOST`` with their padding, are therefore padded to powers of two and masked. Within a compiled
function nothing is padded; results differ in their last bits, since XLA rounds a masked sum in another way, and since
the rounding error that is subtracted is computed for the padded length: 5 units for a single rollout, where 0 would
do. Both results are safe.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.returns._prepared import Prepared
from jaxcert.returns.summaries import Summary

# Returns with their padding: beyond _MOST, padding takes longer than it is worth; up to _FEW, nothing.
_MOST, _FEW = 2**15, 2**12
_FEWEST_TASKS, _FEWEST_ROLLOUTS = 16, 32


class Tasks(NamedTuple):
    """Numbers that belong to tasks, [..., n], perhaps in front of a padding.

    Attributes:
        values: [..., n or more].
        num_tasks: n.
    """

    values: jax.Array
    num_tasks: int


def padded(prepared: Prepared) -> Prepared:
    """Returns [..., n, m] or [m] in front of rollouts that do not count, if they can be read and are few."""
    x, low, high, where = prepared
    if isinstance(x, Summary) or not is_concrete(x, low, high, where) or len(x.devices()) > 1:
        return prepared
    shape = _padded_shape(x.shape)
    if np.prod(shape) > _MOST:
        return prepared
    where = _mask(x.shape, shape) if where is None else _pad(where, shape=shape)
    return Prepared(x if x.shape == shape else _pad(x, shape=shape), low, high, where)


def _padded_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    *others, m = shape
    rollouts = _power_of_two(m, _FEWEST_ROLLOUTS)
    fewest = min(_FEWEST_TASKS, max(1, _FEW // rollouts))
    return *others[:-1], *(_power_of_two(n, fewest) for n in others[-1:]), rollouts


def _power_of_two(size: int, fewest: int) -> int:
    return max(fewest, 1 << (size - 1).bit_length())


def _mask(shape: tuple[int, ...], padded_shape: tuple[int, ...]) -> jax.Array:
    """Where there are rollouts; made on the host, where nothing is compiled for it."""
    where = np.zeros(padded_shape, bool)
    where[tuple(slice(size) for size in shape)] = True
    return jax.device_put(where)  # an explicit transfer, which a transfer guard allows


@functools.partial(jax.jit, static_argnames=("shape", "fill"))
def _pad(x: jax.Array, *, shape: tuple[int, ...], fill: float = 0) -> jax.Array:
    return jnp.pad(x, [(0, more - size) for size, more in zip(x.shape, shape, strict=True)], constant_values=fill)


def pad_tasks(per_task: jax.Array, like: jax.Array) -> jax.Array:
    """A scalar, or numbers that broadcast to tasks [..., n], for the tasks of padded returns [..., n or more, m]."""
    if like.ndim == 1 or per_task.ndim == 0 or per_task.shape[-1] in (1, like.shape[-2]):
        return per_task
    return _pad(per_task, shape=(*per_task.shape[:-1], like.shape[-2]))


def padded_tasks(lower: jax.Array) -> Tasks:
    """Lower bounds [..., n] in front of a padding of -inf, if they can be read and are few."""
    *others, n = lower.shape
    shape = (*others, _power_of_two(n, _FEWEST_TASKS))
    few = is_concrete(lower) and len(lower.devices()) == 1 and np.prod(shape) <= _MOST
    return Tasks(_pad(lower, shape=shape, fill=-np.inf) if few else lower, n)


def tasks_there(tasks: Tasks) -> jax.Array | None:
    """Which of the values [..., n or more] are in front of the padding; None for all."""
    (*others, size), n = tasks.values.shape, tasks.num_tasks
    return None if size == n else _mask((*others, n), (*others, size))


@functools.partial(jax.jit, static_argnames="num_tasks")
def _first(values: jax.Array, *, num_tasks: int) -> jax.Array:
    return values[..., :num_tasks]


def unpadded_tasks(tasks: Tasks) -> jax.Array:
    """The numbers of the tasks alone, [..., n]."""
    values, n = tasks
    return values if values.shape[-1] == n else _first(values, num_tasks=n)
