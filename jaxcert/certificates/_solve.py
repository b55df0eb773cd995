"""Count, then solve: the one place where numbers of violations become risks.

Where n and delta are known numbers, the risk of every k is computed once and kept, and a program looks it up. Otherwise
it searches: for each certificate, or for each k, whichever are fewer.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._method import Solution, Tail
from jaxcert.numerics._batches import on_rows

# More tasks than this have no table: to solve for all k would take longer than for those that occur.
_MOST_TASKS = 2**14


def table_of(tail: Tail, num_tasks: int, size: int, deltas: Any, beta: Any = 0.5) -> Any:
    """The searched numbers for k = 0, ..., n of each delta, host arrays [deltas, size + 1]; None without a table.

    Args:
        tail: whose search it is.
        num_tasks: n.
        size: how many tasks a program has room for; beyond n the last number is repeated.
        deltas: of one float type, [deltas] or a scalar.
        beta: a scalar.
    """
    if num_tasks > _MOST_TASKS or not is_concrete(deltas, beta):
        return None
    deltas = np.atleast_1d(np.asarray(deltas))
    level = float(beta) if tail.of_beta else 0.5
    rows = [_row(tail, num_tasks, float(delta), level, deltas.dtype) for delta in deltas]
    return jax.tree.map(lambda *found: np.stack([np.pad(row, (0, size - num_tasks), "edge") for row in found]), *rows)


@functools.lru_cache(maxsize=1024)
def _row(tail: Tail, num_tasks: int, delta: float, beta: float, dtype: np.dtype) -> Any:
    k = np.arange(num_tasks + 1, dtype=dtype)
    return on_rows(tail.search, k, *(np.full(k.shape, value, dtype) for value in (num_tasks, beta, delta)))


def solve(
    tail: Tail, violations: jax.Array, n: Any, beta: Any, deltas: Any, table: Any = None, *, size: int, row: Any = 0
) -> Solution:
    """The solutions at numbers of violations [...], within a program.

    Args:
        tail: of the method.
        violations: k, int32[...].
        n: the number of tasks, a scalar.
        beta: broadcasts to the violations; only a scalar, if the search depends on it.
        deltas: [deltas] or a scalar.
        table: of ``table_of``, or None.
        size: how many tasks the program has room for.
        row: which delta belongs to each number, int32, broadcasts to the violations.
    """
    deltas = jnp.atleast_1d(deltas)
    row = jnp.broadcast_to(row, violations.shape)
    if table is None and violations.size <= deltas.size * (size + 1):
        found = tail.search(*_arguments(violations, n, beta if tail.of_beta else 0.5, deltas[row]))
    else:
        if table is None:
            every = jnp.broadcast_to(jnp.minimum(jnp.arange(size + 1, dtype=np.int32), n), (deltas.size, size + 1))
            table = tail.search(*_arguments(every, n, beta if tail.of_beta else 0.5, deltas[:, None]))
        found = jax.tree.map(lambda column: jnp.asarray(column)[row, violations], table)
    return tail.finish(found, violations, n, beta)


def solve_every(tail: Tail, n: Any, beta: Any, delta: Any, table: Any = None, *, size: int) -> Solution:
    """The solutions for k = 0, ..., size, within a program; beyond n the last one is repeated."""
    k = jnp.minimum(jnp.arange(size + 1, dtype=np.int32), n)
    return solve(tail, k, n, beta, delta, table, size=size)


def _arguments(k: Any, n: Any, beta: Any, delta: Any) -> list[jax.Array]:
    dtype = delta.dtype
    return jnp.broadcast_arrays(*(jnp.asarray(each, dtype) for each in (k, n, beta)), delta)
