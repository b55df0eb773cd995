"""A sequential experiment in a loop of one's own: a state, its update, its certificate, and the state from a log."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_count, is_concrete, require_real
from jaxcert.bounds._betting import BETTING
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._registry import prepare_thresholds
from jaxcert.numerics._rounding import cast, compute_dtype, convert
from jaxcert.returns._checks import check_returns
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import placed, support_for
from jaxcert.sequential._rule import Bets, prepare_rule
from jaxcert.sequential._wealth import SequentialState, advance, certificate_of, start


def init(
    num_tasks: int,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support,
    beta: Numeric = 0.05,
    bets: Bets | None = None,
    give_up: float = 0.0,
    max_rollouts_per_task: int | None = None,
    binary: bool = False,
) -> SequentialState:
    """Tasks before their first rollout.

    Args:
        num_tasks: n; every one of them counts, whether it is ever rolled out or not.
        thresholds: float[t], or a scalar for one; fixed before the data are seen.
        support: (a, b), which holds every possible return; b may be infinite.
        beta: probability with which a task with J < B may pass, in (0, 1); fixed before the data are seen.
        bets: lambda, each in (0, 1]; fixed before the data. By default 1/4, 1/2 and 1. A bet of 1 alone is best for
            returns that vary little, and loses all at a return of a.
        give_up: the wealth at which a task is left, in [0, 1); 0 leaves none. A caller may leave tasks by any rule of
            its own, and take them up again.
        max_rollouts_per_task: the number of rollouts after which a task is left; by default there is none.
        binary: declares that every return is 0 or 1, before the data: the goal is that of ``certify_sequential`` for an
            array of bool, for ``max_rollouts_per_task``, which is needed.

    Returns:
        A ``SequentialState``; a pytree, for use in ``jit``, ``scan`` and files.

    Raises:
        ValueError: as ``certify``.

    Example:
        >>> init(20, [0.5, 0.7], support=(0, 1)).wealth.shape
        (20, 2, 3)
    """
    check_count("num_tasks", num_tasks)
    dtype = compute_dtype(thresholds)
    low, high = support_for(BETTING, support, dtype)  # betting has the same needs
    ends = cast(low, dtype, "down"), cast(high, dtype, "up")
    level = probability("beta", beta, dtype, "nearest", validate=True, scalar=True)
    rows: Any = prepare_thresholds(thresholds, dtype, True)
    limits = {"give_up": give_up, "max_rollouts_per_task": max_rollouts_per_task, "binary": binary}
    rule = prepare_rule(rows, level, (low, high), bets=bets, **limits)
    return placed(start((num_tasks,), *placed((rows, *ends, level)), rule))


def update(state: SequentialState, returns: Array, tasks: Array, *, validate: bool = True) -> SequentialState:
    """Take in finished rollouts, in the order in which they were started.

    What is invalid but cannot be refused, because it is traced, counts against the certificate: a return that is NaN
    makes its task a violation for good, as does a task that occurs twice in one call; a return outside the support,
    which refutes it, and a number that is no task make all tasks violations.

    Args:
        state: of the experiment so far.
        returns: float[s]; a rollout that broke off counts as a, if it is not run again with the same randomness.
        tasks: int[s], the task of each rollout, no task twice; -1 for none (its return does not count).
        validate: raise for impossible returns that are concrete.

    Returns:
        The state after them. Tasks that have passed a threshold stay as they are there.

    Raises:
        ValueError: for other shapes or types, a number that is no task, the same task twice, an impossible return.

    Example:
        >>> import jax.numpy as jnp
        >>> state = init(20, 0.5, support=(0, 1))
        >>> for _ in range(8):
        ...     state = update(state, jnp.full(3, 0.9), jnp.arange(3))
        >>> int(state.passed.sum())
        3
    """
    require_real("returns", returns)
    require_real("tasks", tasks)
    tasks = tasks if isinstance(tasks, jax.Array) else np.asarray(tasks)
    if tasks.dtype.kind not in "iu" or tasks.ndim != 1 or np.shape(returns) != tasks.shape:
        raise ValueError(
            f"returns of shape {np.shape(returns)} with tasks {tasks.dtype} of shape {tasks.shape}; expected returns "
            "[s] and integers [s]"
        )
    if is_concrete(tasks):
        tasks, n = np.asarray(tasks), state.valid.shape[-1]
        bad = np.flatnonzero((tasks >= n) | ((tasks < -1) if tasks.dtype.kind == "i" else False))
        if bad.size:
            raise ValueError(f"tasks hold {tasks[bad[0]]}; expected numbers below {n}, or -1 for none")
        numbers, counts = np.unique(tasks[tasks >= 0], return_counts=True)
        if (counts > 1).any():
            raise ValueError(f"tasks hold {numbers[counts > 1][0]} twice; expected one rollout of a task per call")
        tasks = tasks.astype(np.int32)
        if validate and is_concrete(state, returns):
            values, counted, binary = np.asarray(returns, np.float64), tasks >= 0, bool(state.is_binary)
            place_of = lambda index: f"the return of task {tasks[index[0]]}"  # noqa: E731
            check_returns(values, state.low, state.high, counted, binary=binary, place_of=place_of)
    elif tasks.dtype in (jnp.uint32, jnp.uint64):
        raise ValueError(f"tasks have dtype {tasks.dtype}; expected signed integers")
    return _update(state, convert(returns, state.wealth.dtype, "down"), tasks)


def certificate(state: SequentialState, delta: Numeric) -> Certificate:
    """The certificate at this moment; it holds at all moments together, with probability at least 1 - delta.

    Args:
        state: state of the experiment so far.
        delta: failure probability of each threshold's certificates, in (0, 1); fixed before the data are seen.

    Returns:
        A ``Certificate`` with arrays [t].

    Raises:
        ValueError: for a delta outside (0, 1).

    Example:
        >>> print(certificate(init(20, 0.5, support=(0, 1)), 0.1))
        With confidence 0.9: nothing is certified about an expected return of at least 0.5.
    """
    delta = probability("delta", delta, state.beta.dtype, "down", validate=True, scalar=True)
    successes = is_concrete(state.is_binary) and bool(np.all(state.is_binary))
    return certificate_of(state, delta, successes)


@jax.jit
def _update(state: SequentialState, returns: jax.Array, tasks: jax.Array) -> SequentialState:
    n = state.valid.shape[-1]
    tasks = tasks.astype(jnp.promote_types(tasks.dtype, jnp.int32))
    place = jnp.where(tasks < 0, n, tasks)  # n is dropped; negative indices would count from the end
    x = jnp.zeros(n, returns.dtype).at[place].set(returns, mode="drop")
    times = jnp.zeros(n, jnp.int32).at[place].add(1, mode="drop")
    known = jnp.all((tasks >= -1) & (tasks < n))
    state = state._replace(valid=state.valid & (times <= 1) & known)
    return advance(state, x, times > 0)
