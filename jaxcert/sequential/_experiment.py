"""A sequential experiment in a loop of one's own: a state, its update, its certificate."""

from collections.abc import Sequence

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete, require_real
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._evaluate import bound_support
from jaxcert.certificates._arguments import prepare_thresholds
from jaxcert.numerics._rounding import cast, compute_dtype, convert
from jaxcert.returns._prepared import Support, probability
from jaxcert.sequential._sequential_certificate import SequentialCertificate, certificate_of
from jaxcert.sequential._wealth import SequentialState, advance, start


def init(
    num_tasks: int,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support,
    beta: chex.Numeric = 0.05,
) -> SequentialState:
    """Tasks before their first rollout.

    Args:
        num_tasks: n; every one of them counts, whether it is ever rolled out or not.
        thresholds: float[t], or a scalar for one; fixed before the data are seen.
        support: (a, b), which holds every possible return; b may be infinite.
        beta: probability with which a task with J < B may pass, in (0, 1); fixed before the data are seen.

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
    low, high = bound_support(BETTING, support)  # betting asks the same of it
    ends = cast(low, dtype, "down"), cast(high, dtype, "up")
    beta = probability("beta", beta, dtype, "nearest", validate=True, scalar=True)
    return start((num_tasks,), prepare_thresholds(thresholds, dtype, True), *ends, beta)


def update(state: SequentialState, returns: chex.Array, tasks: chex.Array) -> SequentialState:
    """Take in finished rollouts, in the order in which they were started.

    A return that is not finite or outside the support makes its task a violation for good. So does a task that occurs
    twice in one call, and an index of n or more makes all tasks violations, where these cannot be refused because they
    are traced.

    Args:
        state: of the experiment so far.
        returns: float[s]; a rollout that broke off counts as a, if it is not run again with the same randomness.
        tasks: int[s], the task of each rollout, no task twice; -1 for none (its return does not count).

    Returns:
        The state after them.

    Raises:
        ValueError: for other shapes or types, an index of n or more, or the same task twice.

    Example:
        >>> import jax.numpy as jnp
        >>> state = init(20, 0.5, support=(0, 1))
        >>> for _ in range(8):
        ...     state = update(state, jnp.full(3, 0.9), jnp.arange(3))
        >>> int(state.passed.sum())
        3
    """
    require_real("returns", returns)
    tasks = jnp.asarray(tasks)
    if not jnp.issubdtype(tasks.dtype, jnp.integer) or tasks.ndim != 1 or np.shape(returns) != tasks.shape:
        raise ValueError(
            f"returns of shape {np.shape(returns)} with tasks {tasks.dtype} of shape {tasks.shape}; expected returns "
            "[s] and integers [s]"
        )
    n = state.valid.shape[-1]
    if is_concrete(tasks):
        _check_tasks(np.asarray(tasks), n)
    return _update(state, convert(returns, state.wealth.dtype, "down"), tasks)


def certificate(state: SequentialState, delta: chex.Numeric) -> SequentialCertificate:
    """The certificate at this moment; it holds at all moments together, with probability at least 1 - delta.

    Args:
        state: of the experiment so far.
        delta: failure probability of each threshold's certificates, in (0, 1); fixed before the data are seen.

    Returns:
        A ``SequentialCertificate`` with arrays [t].

    Raises:
        ValueError: for a delta outside (0, 1).

    Example:
        >>> print(certificate(init(20, 0.5, support=(0, 1)), 0.1))
        With confidence 0.9: nothing is certified about an expected return of at least 0.5.
    """
    return certificate_of(state, probability("delta", delta, state.beta.dtype, "down", validate=True, scalar=True))


def _check_tasks(tasks: np.ndarray, n: int) -> None:
    if tasks.size and tasks.max() >= n:
        raise ValueError(f"tasks hold {tasks.max()}; expected numbers below {n}, or -1 for none")
    numbers, counts = np.unique(tasks[tasks >= 0], return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"tasks hold {numbers[counts > 1][0]} twice; expected one rollout of a task per call")


@jax.jit
def _update(state: SequentialState, returns: jax.Array, tasks: jax.Array) -> SequentialState:
    n = state.valid.shape[-1]
    place = jnp.where(tasks < 0, n, tasks)  # n is dropped; negative indices would count from the end
    x = jnp.zeros(n, returns.dtype).at[place].set(returns, mode="drop")
    times = jnp.zeros(n, jnp.int32).at[place].add(1, mode="drop")
    state = advance(state, x, times > 0, jnp.zeros((), x.dtype))
    return state._replace(valid=state.valid & (times <= 1) & jnp.all(tasks < n))
