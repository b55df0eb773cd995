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

from jaxcert._types import Numeric
from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.bounds._bound import Bound
from jaxcert.numerics._batches import elementwise, in_blocks, kept_rows
from jaxcert.numerics._binomial_limits import upper_limit
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import cast, compute_dtype, most_whole, unit_roundoff
from jaxcert.returns._prepared import probability
from jaxcert.returns._sample import Sample

# The level of a lower bound if none is given: its only cost is the factor 1/(1 - beta).
USUAL_BETA = 0.05
# A sum of unequal coins has at most the lower tail of the binomial with its mean, up to that mean less 1 (Hoeffding
# 1956). A binomial tail below this delta ends there (Greenberg and Mohri 2014).
MOST_DELTA = 0.25


class Solution(NamedTuple):
    """The risk that a method certifies for each number of violations, elementwise.

    Attributes:
        epsilon: certified risk; 1 where nothing is certified.
        num_valid: the number of valid lower bounds that it is derived from: K of the scenario theorem, 0 where that is
            infeasible; n - k for a method that does not choose it.
        feasible: whether the method has a solution at all: some K in 1..n-k.
    """

    epsilon: jax.Array
    num_valid: jax.Array
    feasible: jax.Array


class Tail(NamedTuple):
    """From a number of violations to a risk: what takes a search, and what follows from it."""

    # (k, n, beta, delta) -> arrays, elementwise, of numbers of one float type that broadcast. Never below the exact
    # risk, increasing in k and beta, 1 for invalid arguments.
    search: Callable[..., Any]
    # (these arrays, k, n, beta) -> the solution; by default the arrays themselves.
    finish: Callable[..., Any] = lambda found, k, n, beta: found
    of_beta: bool = False  # whether the search depends on beta


class Levels(NamedTuple):
    """The levels among which the data choose, [g] in increasing order, and the delta of the certificate at each."""

    betas: Any
    delta_each: Any


def risks_known(method: "Method", sample: Sample, thresholds: Any, beta: Any, delta: Any) -> Any:
    """The table of all numbers of violations, at one level or at several; None without a tail or a table."""
    if method.tail is None or sample.weights is not None:
        return None
    beta, delta = (None, beta.delta_each) if isinstance(beta, Levels) else (beta, delta)
    return table_of(method.tail, int(sample.num_tasks), sample.tasks[-1], delta, beta)


@dataclasses.dataclass(frozen=True)
class Method:
    """A rule that counts tasks, and the tail that turns the count into a risk; hashable."""

    name: str  # as in ``certify(method=...)``
    tail: Any  # a ``Tail`` from the number of violations to the risk; None for a method that adds up evidence
    _: dataclasses.KW_ONLY
    # (method, bound, sample, thresholds, beta, delta, known) -> the fields of a ``Certificate``, within a program; beta
    # is None where the method chooses, or ``Levels``. By default from the lower bounds that miss each threshold.
    count: Callable[..., dict[str, Any]] | None = None
    known: Callable[..., Any] = risks_known  # what is known before the returns are, by default the risks
    # (delta, n, m) -> beta if the user gives none, for n tasks with room for m rollouts each; None if the method then
    # chooses one for each threshold, for which "auto" asks as well.
    default_beta: Callable[..., Any] = lambda delta, num_tasks, num_rollouts=None: USUAL_BETA
    # The levels among which ``certify(beta="auto")`` chooses, increasing, each held by every float type; none where it
    # needs a number.
    choice: tuple[float, ...] = ()
    zero_beta: bool = False  # whether beta may be 0
    free_beta: bool = False  # whether a safety level takes the largest beta that costs nothing if none is given
    # (beta, delta, n) -> whether the method is sound by itself; the status says where not. The tail has to be, too.
    is_sound: Callable[[Any, Any, Any], Any] = lambda beta, delta, n: True
    chooses_valid: bool = False  # whether ``num_valid`` says more than n - k
    bound: Bound | None = None  # the only bound that it uses, if it counts no lower bounds
    summaries: bool = True  # whether a summary of the returns suffices

    @property
    def counts_successes(self) -> bool:
        """Whether it derives the risk from how many rollouts of each task succeeded; it then chooses its betas."""
        return self.bound is not None and self.bound.binary


# --- the risks ----------------------------------------------------------------------------------------------------

# More tasks than this have no table: to solve for all k would take longer than for those that occur.
_MOST_TASKS = 2**14
# The beta of a search that does not depend on one.
_UNUSED = 0.5


def table_of(tail: Tail, num_tasks: int, size: int, deltas: Any, beta: Any = None) -> Any:
    """The searched numbers for k = 0, ..., n of each delta, host arrays [deltas, size + 1]; None without a table.

    ``size``: how many tasks a program has room for; beyond n the last number is repeated. ``beta``: of a search that
    depends on it.
    """
    if num_tasks > _MOST_TASKS or not is_concrete(deltas, beta):
        return None
    deltas = np.atleast_1d(np.asarray(deltas))
    level = float(beta) if tail.of_beta else None
    rows = [_row(tail, num_tasks, float(delta), level, deltas.dtype) for delta in deltas]
    return jax.tree.map(lambda *found: np.stack([np.pad(row, (0, size - num_tasks), "edge") for row in found]), *rows)


@functools.lru_cache(maxsize=1024)
def _row(tail: Tail, num_tasks: int, delta: float, beta: float | None, dtype: np.dtype) -> Any:
    k = np.arange(num_tasks + 1, dtype=dtype)
    settings = num_tasks, _UNUSED if beta is None else beta, delta
    return kept_rows(tail.search, k, *(np.full(k.shape, value, dtype) for value in settings))


def solve(
    tail: Tail, violations: jax.Array, n: Any, beta: Any, deltas: Any, table: Any = None, *, size: int, row: Any = 0
) -> Solution:
    """The solutions at numbers of violations, int32[...], within a program that has room for ``size`` tasks.

    ``beta`` broadcasts to the violations, and is a scalar if the search depends on it; ``row`` says which of the deltas
    belongs to each number; ``table`` is of ``table_of``, or None.
    """
    deltas = jnp.atleast_1d(deltas)
    row = jnp.broadcast_to(row, violations.shape)
    if table is None and violations.size <= deltas.size * (size + 1):
        found = _search(tail, violations, n, beta, deltas[row])
    else:
        every = searched(tail, n, beta, deltas, table, size=size)
        found = jax.tree.map(lambda column: column[row, violations], every)
    return tail.finish(found, violations, n, beta)


def searched(tail: Tail, n: Any, beta: Any, deltas: Any, table: Any, *, size: int) -> Any:
    """The searched numbers for k = 0, ..., size at each of the deltas, of the table if there is one."""
    if table is None:
        every = jnp.broadcast_to(jnp.minimum(jnp.arange(size + 1, dtype=np.int32), n), (deltas.size, size + 1))
        table = _search(tail, every, n, beta, deltas[:, None])
    return jax.tree.map(jnp.asarray, table)


def _search(tail: Tail, k: Any, n: Any, beta: Any, delta: Any) -> Any:
    numbers = (jnp.asarray(each, delta.dtype) for each in (k, n, beta if tail.of_beta else _UNUSED))
    return tail.search(*jnp.broadcast_arrays(*numbers, delta))


# --- the binomial tail ---------------------------------------------------------------------------------------------


def epsilon_arguments(k: Any, n: Any, beta: Any, delta: Any, validate: bool, *, zero_beta: bool) -> tuple[Any, ...]:
    """(k up, n down, beta up, delta down) as arrays of one float type: epsilon grows with k and beta."""
    dtype = compute_dtype(beta, delta)
    if validate and is_concrete(k, n):
        tasks, most = as_numbers("num_tasks", n), most_whole(dtype)
        good = (tasks >= 1) & (tasks < np.inf) & (tasks == np.floor(tasks))
        refuse("num_tasks", tasks, good, "a whole number of at least 1")
        refuse("num_tasks", tasks, tasks <= most, f"at most {most}, to which {dtype} can count")
        violations, tasks = np.broadcast_arrays(as_numbers("num_violations", k), tasks)
        good = (violations >= 0) & (violations <= tasks) & (violations == np.floor(violations))
        refuse("num_violations", violations, good, "a whole number between 0 and num_tasks")
    else:
        require_real("num_violations", k)
        require_real("num_tasks", n)
    return (
        cast(k, dtype, "up", whole=True),
        cast(n, dtype, "down", whole=True),
        probability("beta", beta, dtype, "up", validate=validate, zero_allowed=zero_beta),
        probability("delta", delta, dtype, "down", validate=validate),
    )


def whole(k: jax.Array, n: jax.Array) -> jax.Array:
    """Where 0 <= k <= n and n >= 1 are integers, and the type holds all integers up to n."""
    return (k >= 0) & (k <= n) & (n >= 1) & (n <= most_whole(n.dtype)) & (k == jnp.floor(k)) & (n == jnp.floor(n))


def binomial_epsilon(
    num_violations: Numeric,
    num_tasks: Numeric,
    beta: Numeric,
    delta: Numeric,
    *,
    validate: bool = True,
) -> jax.Array:
    r"""Upper confidence bound on the risk from the number of tasks whose lower bound misses the threshold.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{U(k; n, \delta)}{1 - \beta}\Big), \qquad
              P[\mathrm{Bin}(n, U) \le k] = \delta, \qquad \hat\varepsilon = 1 \text{ at } k = n.

    One-sided: with probability at least 1 - delta over tasks and rollouts together, a new task misses the threshold
    with probability at most epsilon. Sound for every beta in [0, 1); no union bound over anything.

    Args:
        num_violations: k, tasks whose lower bound is not at least the threshold; integers in 0..n.
        num_tasks: n >= 1, tested up to 10**6.
        beta: failure probability of one lower bound, in [0, 1); 0 if every performance is known exactly.
        delta: failure probability of the certificate, in (0, 1).
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give 1.

    All arguments broadcast against each other and may be traced.

    Returns:
        epsilon in (0, 1], never below the exact value for the rounded arguments; differentiable in beta and delta.

    Raises:
        ValueError: for k outside 0..n, n < 1, beta outside [0, 1) or delta outside (0, 1).

    Example:
        >>> print(f"{binomial_epsilon(0, 200, 0.01, 0.01):.4f}")
        0.0230

    Reference: the thinning lemma in the theory page, section on the binomial certificate.
    """
    k, n, beta, delta = epsilon_arguments(num_violations, num_tasks, beta, delta, validate, zero_beta=True)
    return elementwise(_epsilon, num_violations=k, num_tasks=n, beta=beta, delta=delta)


@jax.jit
def _epsilon(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> jax.Array:
    return inflate(upper_risk(k, n, delta), beta)


def inflate(risk: jax.Array, beta: jax.Array) -> jax.Array:
    """Epsilon from U(k; n, delta): U / (1 - beta), rounded up; 1 for an invalid beta."""
    valid = (beta >= 0) & (beta < 1)
    # One factor for all k. 1 - beta, the quotient and the product with it are off by 3.1 u.
    above_one = jnp.full_like(beta, 1 + 4 * unit_roundoff(risk.dtype))
    factor = quotient(above_one, 1 - jnp.where(valid, beta, 0.0))
    return jnp.where(valid, jnp.minimum(risk * factor, 1.0), 1.0)


@jax.jit
def upper_risk(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
    """U(k; n, delta) for arrays of one float type that broadcast; 1 wherever an argument is invalid."""
    # Beyond the significand not every n is a float: a level that is no number makes the risk 1.
    level = jnp.where(n <= most_whole(n.dtype), delta, jnp.nan)
    return in_blocks(upper_limit, *jnp.broadcast_arrays(k, n, level))


# --- the method ---------------------------------------------------------------------------------------------------


def _finish(risk: jax.Array, k: jax.Array, n: jax.Array, beta: jax.Array) -> Solution:
    num_valid = jnp.broadcast_to(n - k, risk.shape).astype(jnp.int32)
    return Solution(inflate(risk, beta), num_valid, jnp.ones(risk.shape, bool))


TAIL = Tail(lambda k, n, beta, delta: upper_risk(k, n, delta), _finish)
# Of tasks drawn within strata: violations are a sum of unequal coins, whose tail is at most a binomial one of at most
# ``MOST_DELTA``, unless this includes all tasks or all but one.
WITHIN_STRATA = Tail(lambda k, n, beta, delta: jnp.where(k < n - 1, upper_risk(k, n, delta), 1.0), _finish)

# Near 0.05, 0.25 and 0.6: more levels cost about as much in delta as they gain (benchmarks/tightness/levels.py).
BINOMIAL = Method("binomial", TAIL, choice=(3 / 64, 1 / 4, 5 / 8), zero_beta=True, free_beta=True)
