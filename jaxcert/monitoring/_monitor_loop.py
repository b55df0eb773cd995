"""A monitor in a loop of one's own: `init` and `update`."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import is_concrete, require_real
from jaxcert.certificates._interval import check_complete
from jaxcert.monitoring._monitor_state import MonitorState, advance
from jaxcert.monitoring._task_test import as_returns, check_possible, prepare_test, score_down
from jaxcert.numerics._bets import goal_up
from jaxcert.numerics._rounding import cast, compute_dtype, next_down
from jaxcert.returns._prepared import Support, probability

# Found by `python -m benchmarks.monitoring`: 1/4 for a risk that triples, 1/32 for one that grows by half.
_BETS, _WEIGHTS = (0.25, 0.125, 0.0625, 0.03125), (3 / 9, 3 / 9, 2 / 9, 1 / 9)


def init(
    threshold: Numeric,
    epsilon: Numeric,
    *,
    support: Support | None = None,
    complete: bool = False,
    successes: bool = False,
    num_rollouts: int = 1,
    alpha: Numeric = 0.05,
) -> MonitorState:
    r"""A monitor of the claim that a new task has J >= B with probability at least 1 - epsilon, before the first task.

    .. math:: E_t = \sum_g w_g \prod_{s \le t} \big(1 + \lambda_g (Z_s - 1)\big), \qquad
        P[\exists t: E_t \ge 1/\alpha] \le \alpha \text{ under the claim}

    Z is a score of mean at most 1 under the claim, whatever came before. With 0/1 returns, and with several rollouts
    per task, Z = F/q: F is 1 for a task that is flagged, by at most c successes or an upper bound below B at level
    beta, and q = epsilon + (1 - epsilon) beta. c is the number with which evidence grows fastest if the risk triples;
    beta is epsilon/5, or epsilon/2 if m (B - a) / (b - a) < 7. With one return per task Z = (b - X) / (b - mu),
    mu = a + (1 - epsilon) (B - a). The sum over starting times of such products detects a change at an unknown time.

    Args:
        threshold: B, with a < B <= b.
        epsilon: the risk that is claimed, in (0, 1).
        support: (a, b), finite, which holds every possible return; none for successes.
        complete: True declares that each return is one of a whole rollout, so that its mean is J: prefixes that
            undervalue tasks would raise a false alarm.
        successes: whether a rollout succeeds (1) or fails (0).
        num_rollouts: m, of each task.
        alpha: probability of ever raising a false alarm, in (0, 1).

    Returns:
        A ``MonitorState``; scalars, so that ``jax.vmap`` watches several claims.

    Raises:
        ValueError: for values outside these ranges, or without complete=True.

    Example:
        >>> state = init(0.5, 0.1, successes=True, num_rollouts=10, complete=True)
        >>> int(state.test.most_successes)
        2

    Reference: the theory page, section 14; Shin, Ramdas and Rinaldo (2022) for sums over starting times.
    """
    check_complete(complete)
    dtype = compute_dtype(threshold, epsilon, alpha)
    test = prepare_test(threshold, epsilon, support, successes=successes, num_rollouts=num_rollouts, dtype=dtype)
    # Rounded down, so that the weights sum to at most 1; rounding, also of the logarithm, adds at most 2**-50.
    log_weights = next_down(cast(np.log(_WEIGHTS) - 1e-14, dtype, "down"))
    bets = cast(_BETS, dtype, "nearest")
    goal = goal_up(probability("alpha", alpha, dtype, "down", validate=True, scalar=True))
    count = jnp.int32(0)
    return MonitorState(
        products=jnp.zeros_like(bets),
        sums=jnp.full_like(bets, -jnp.inf),
        num_tasks=count,
        num_against=count,
        alarm_at=count,
        change_at=count,
        valid=test.valid,
        bets=bets,
        log_weights=log_weights,
        goal=goal,
        test=test,
    )


def update(state: MonitorState, returns: Array, *, validate: bool = True) -> MonitorState:
    """Update with the next task, in the order of arrival.

    Leave no task out: that would select tasks. A rollout that broke off counts as a. Impossible traced returns make the
    state permanently invalid; it then supports no conclusion.

    Args:
        state: before the task.
        returns: float[m], 0 or 1 or bool for successes.
        validate: raise for impossible returns that are concrete.

    Returns:
        The state after it.

    Raises:
        ValueError: for another shape or type, or an impossible return.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert.monitoring import evidence
        >>> state = init(0.5, 0.1, successes=True, num_rollouts=10, complete=True)
        >>> for _ in range(5):
        ...     state = update(state, jnp.zeros(10))
        >>> bool(evidence(state).alarm)
        True
    """
    require_real("returns", returns)
    values = returns if isinstance(returns, jax.Array) else np.asarray(returns)
    if values.shape != (state.test.num_rollouts,):
        raise ValueError(f"returns have shape {values.shape}; expected [{state.test.num_rollouts}], those of one task")
    if validate and is_concrete(state.test, values):
        check_possible(state.test, np.asarray(values, np.float64)[None])
    return _update(state, as_returns(state.test, values))


@jax.jit
def _update(state: MonitorState, returns: jax.Array) -> MonitorState:
    return advance(state, *score_down(state.test, returns))
