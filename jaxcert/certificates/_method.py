"""Count, then solve: the methods, and the one place where numbers of violations become risks.

A method is a rule that counts tasks, and the tail that turns the count into a risk. Where n and delta are known
numbers, the risk of every k is computed once and kept, and a program looks it up. Otherwise it searches: for each
certificate, or for each k, whichever are fewer.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.numerics._batches import on_rows

# The level of a lower bound if none is given: its only cost is the factor 1/(1 - beta).
USUAL_BETA = 0.05


class Solution(NamedTuple):
    """What a method gives for each number of violations, elementwise.

    Attributes:
        epsilon: certified risk in (0, 1]; 1 where nothing is certified.
        num_valid: how many valid lower bounds the risk is derived from; n - k where the method does not choose.
        feasible: whether the method has a solution at all.
    """

    epsilon: jax.Array
    num_valid: jax.Array
    feasible: jax.Array


class Tail(NamedTuple):
    """From a number of violations to a risk: what takes a search, and what follows from it.

    Attributes:
        search: (k, n, beta, delta) -> arrays, elementwise, of numbers of one float type that broadcast. Never
            below the exact risk, increasing in k and beta, 1 for invalid arguments.
        finish: (these arrays, k, n, beta) -> ``Solution``.
        of_beta: whether the search depends on beta.
    """

    search: Callable[..., Any]
    finish: Callable[..., Solution]
    of_beta: bool = False


class Choice(NamedTuple):
    """A choice among levels that are fixed before the data are seen.

    Attributes:
        betas: the levels, in increasing order, each a number that every float type holds.
        delta_each: (n, delta, betas) -> the delta of each level's certificate, with which the best of them fails with
            probability at most delta; on the host.
    """

    betas: tuple[float, ...]
    delta_each: Callable[[int, float, tuple[float, ...]], float]


@dataclasses.dataclass(frozen=True)
class Method:
    """A rule that counts tasks, and the tail that turns the count into a risk; hashable.

    Attributes:
        name: as in ``certify(method=...)``.
        count: (method, bound, sample, thresholds, beta, delta, validate) -> the fields of a ``Certificate``.
        tail: from the number of violations to the risk; None for a method that adds up evidence.
        default_beta: (delta, n, m) -> beta if the user gives none, for n tasks with room for m rollouts each; None if
            the method then chooses one for each threshold, for which "auto" asks as well.
        choice: how ``certify(beta="auto")`` chooses the level; None where it needs one.
        zero_beta: whether beta may be 0.
        free_beta: whether ``certify_safety_level`` takes the largest beta that costs nothing if the user gives none.
        is_sound: (beta, delta, n) -> where the method is sound by itself.
        caveat: (beta, delta, n) -> the text of the warning where it is not; the tail must be sound there, too.
        chooses_valid: whether ``num_valid`` says more than n - k.
        bound: the only bound that it uses, if it counts no lower bounds; None if it counts those of any bound.
        summaries: whether a summary of the returns suffices.
    """

    name: str
    count: Callable[..., dict[str, Any]]
    tail: Tail | None
    default_beta: Callable[..., Any] = lambda delta, num_tasks, num_rollouts=None: USUAL_BETA
    choice: Choice | None = None
    zero_beta: bool = False
    free_beta: bool = False
    is_sound: Callable[[Any, Any, Any], Any] = lambda beta, delta, n: True
    caveat: Callable[[float, float, int], str] | None = None
    chooses_valid: bool = False
    bound: Bound | None = None
    summaries: bool = True

    def solve(self, k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> Solution:
        """The solutions of arrays of one float type that broadcast."""
        assert self.tail is not None
        return self.tail.finish(self.tail.search(k, n, beta, delta), k, n, beta)

    @property
    def counts_successes(self) -> bool:
        """Whether it derives the risk from how many rollouts of each task succeeded: returns are 0 or 1.

        It then chooses a beta for each threshold where none is given.
        """
        return self.bound is not None and self.bound.binary


# --- the risks ----------------------------------------------------------------------------------------------------

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
