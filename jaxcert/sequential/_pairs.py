"""Two policies tried in pairs, or several in blocks, until it is shown which one is better."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import as_numbers, check_count, is_concrete, require_real
from jaxcert.numerics._rounding import cast, compute_dtype, convert, unit_roundoff
from jaxcert.numerics._summation import difference_down
from jaxcert.returns._checks import check_returns
from jaxcert.returns._prepared import Needs, Support, probability, support_for
from jaxcert.sequential._experiment import init
from jaxcert.sequential._rule import Bets
from jaxcert.sequential._wealth import SequentialState, advance

# A bet l is best where a policy wins (1 + l)/2 of the discordant pairs. These are floats in each precision.
PAIR_BETS = (0.125, 0.5, 0.8125)
# Discordant pairs within which the rule for successes is exact, unless a number is given.
MOST_PAIRS = 200
_NEEDS = Needs("a difference", needs_width=True)


def init_pairs(
    *,
    delta: Numeric,
    support: Support | None = None,
    margin: float = 0.0,
    bets: Bets | None = None,
    max_pairs: int | None = None,
    num_policies: int = 2,
) -> SequentialState:
    r"""Two policies A and B before their first pair: a trial of each on a scene that is drawn anew.

    .. math:: W_t = \frac13 \sum_{\lambda} \prod_{i \le t} \Big(1 + \lambda \frac{D_i - c}{w + c}\Big),
              \qquad D_i = A_i - B_i \in [-w, w]

    A is shown to be better by more than the margin c when this evidence reaches a goal, and B when the evidence of the
    negated differences does. With probability at least 1 - delta neither is shown wrongly, whenever and why the trials
    end. For successes and failures only the discordant pairs count, on which exactly one policy succeeds. Fair coins
    reach the goal within ``max_pairs`` with probability at most delta/2, computed exactly. For scores, and for a
    margin, the goal is 2/delta.

    Of k policies, each block has a trial of each, and each policy is compared with each other one as A with B. All
    that is shown holds at once: k (k - 1) takes the place of 2.

    Args:
        delta: probability with which a policy may be shown better that is not, in (0, 1); fixed beforehand, as all is.
        support: (a, b), which holds every possible score; None for successes and failures.
        margin: c, at least 0 and below the largest possible difference.
        bets: lambda, each in (0, 1]; by default 1/8, 1/2 and 13/16.
        max_pairs: the number of pairs after which none is shown any more; for successes of discordant ones, by default
            200 and at most 2000. For scores there is none by default.
        num_policies: k, at least 2.

    Returns:
        A ``SequentialState`` with a task for each ordered pair of policies: of two, that A is better, and that B is.

    Raises:
        ValueError: for a delta outside (0, 1), a support that is not finite, or another margin.

    Example:
        >>> init_pairs(delta=0.05).wealth.shape
        (2, 1, 3)

    Reference: the theory page, section 18.4.
    """
    dtype = compute_dtype(margin)
    check_count("num_policies", num_policies, least=2)
    orders = num_policies * (num_policies - 1)
    share = 0.5 if orders == 2 else (1 - 4 * unit_roundoff(dtype)) / orders
    level = probability("delta", delta, dtype, "down", validate=True, scalar=True) * np.asarray(share, dtype)
    low, high = map(float, support_for(_NEEDS, (0.0, 1.0) if support is None else support))
    # No difference of rounded scores is beyond the difference of the rounded ends.
    with jax.ensure_compile_time_eval():
        width = -float(difference_down(cast(low, dtype, "down"), cast(high, dtype, "up")))
    least = float(as_numbers("margin", margin))
    if not 0 <= least < high - low:
        raise ValueError(
            f"margin is {least:g}; expected at least 0, and below {high - low:g}, the largest possible difference"
        )
    is_binary = support is None and least == 0
    half, ends = (0.5, (0.0, 1.0)) if is_binary else (margin, (-width, width))
    most = MOST_PAIRS if is_binary and max_pairs is None else max_pairs
    rule = {"bets": PAIR_BETS if bets is None else bets, "max_rollouts_per_task": most, "binary": is_binary}
    return init(orders, half, support=ends, beta=level, **rule)


def update_pairs(
    state: SequentialState, *returns: Array, where: Array | None = None, validate: bool = True
) -> SequentialState:
    """Take in finished pairs, in the order in which they were begun; after the decision they change nothing.

    A pair with a NaN or another impossible return, which cannot be refused because it is traced, leaves both policies
    without a decision for good.

    Args:
        state: of the pairs so far.
        returns: float[s] or bool[s] of policy A, then of B, and of each other one; or one of each. A trial that broke
            off is a failure, or has the lowest score. No pair may be left out.
        where: bool[k], which policies are still tried; by default all. One that was dropped stays out.
        validate: raise for impossible returns that are concrete.

    Returns:
        The state after them.

    Raises:
        ValueError: for other shapes, or an impossible return.

    Example:
        >>> state = init_pairs(delta=0.05)
        >>> state = update_pairs(state, [True] * 9, [False, False, True, False, False, False, False, False, False])
        >>> print(shown_better(state))
        [[False  True]
         [False False]]
    """
    k = num_policies(state)
    names = [f"returns_{chr(97 + i)}" if k <= 26 else f"returns {i}" for i in range(k)]
    for name, x in zip(names, returns, strict=False):
        require_real(name, x)
    shapes = [np.shape(x) for x in returns]
    if len(shapes) != k or len({*shapes}) > 1 or len(shapes[0]) > 1:
        times = "twice" if k == 2 else f"{k} times"
        raise ValueError(f"returns have shapes {' and '.join(map(str, shapes))}; expected {times} [s]")
    tried = jnp.ones(k, bool) if where is None else jnp.asarray(where, bool)
    if validate and is_concrete(state, *returns, tried):
        held = [np.atleast_1d(np.asarray(x, np.float64)) for x in returns]
        own = {name: x for name, x, is_in in zip(names, held, np.asarray(tried), strict=True) if is_in}
        binary, ends = bool(state.is_binary), (state.low, state.high)
        checks = {name: (x, -np.inf, np.inf) for name, x in own.items()}
        both = [] if binary else itertools.combinations(own, 2)
        of = (lambda one, other: "") if len(own) == 2 else " of {} and {}".format
        checks |= {f"the difference of returns{of(*each)}": (own[each[0]] - own[each[1]], *ends) for each in both}
        for name, each in checks.items():
            check_returns(*each, None, binary=binary, place_of=lambda i, name=name: f"{name} of pair {i[0]}")
    down, up = (
        jnp.stack([jnp.atleast_1d(convert(x, state.wealth.dtype, side)) for x in returns], axis=-1)
        for side in ("down", "up")
    )
    return _after_pairs(state, down, up, tried)


def num_policies(state: SequentialState) -> int:
    """The number k of policies, of which the state has k (k - 1) ordered pairs."""
    return (1 + math.isqrt(1 + 4 * state.valid.shape[-1])) // 2


def orders_of(k: int) -> np.ndarray:
    """The places of the policies in each ordered pair, int[k (k - 1), 2]: that the first is better than the second."""
    return np.array([*itertools.permutations(range(k), 2)])


def shown_better(state: SequentialState) -> jax.Array:
    """Which policy has been shown to be better than which other, of two or more.

    Args:
        state: of the pairs or blocks so far.

    Returns:
        bool[..., k, k], true at [i, j] if policy i is shown to be better than j. All of it holds at once, whenever it
        was looked at.

    Example:
        >>> state = init_pairs(delta=0.05, num_policies=3)
        >>> state = update_pairs(state, [True] * 20, [True] * 20, [False] * 20)
        >>> print(shown_better(state).astype(int))
        [[0 0 1]
         [0 0 1]
         [0 0 0]]
    """
    k = num_policies(state)
    first, second = orders_of(k).T
    shown = state.passed[..., 0] & state.valid
    return jnp.zeros((*shown.shape[:-1], k, k), bool).at[..., first, second].set(shown)


@jax.jit
def _after_pairs(state: SequentialState, down: jax.Array, up: jax.Array, tried: jax.Array) -> SequentialState:
    orders = orders_of(num_policies(state))
    first, second = orders.T
    swapped = np.asarray([[*map(tuple, orders)].index((j, i)) for i, j in orders.tolist()])

    def one(state: SequentialState, block: tuple[jax.Array, jax.Array]) -> tuple[SequentialState, None]:
        below, above = (jnp.where(tried, x, 0) for x in block)
        own, other = below[first], below[second]
        is_outcome = jnp.all(jnp.stack([(x == 0) | (x == 1) for x in (own, other)]), axis=0)
        discordant = jnp.where(is_outcome, own, jnp.nan)
        x = jnp.where(state.is_binary, discordant, difference_down(own, above[second]))
        counts = tried[first] & tried[second] & ~(state.is_binary & is_outcome & (own == other))
        state = advance(state, x, counts & jnp.any(state.is_open, axis=-1))
        decided = state.passed | state.passed[swapped]
        return state._replace(is_open=state.is_open & ~decided), None

    return jax.lax.scan(one, state, (down, up))[0]
