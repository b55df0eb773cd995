"""Two policies tried in pairs, pair by pair, until one is shown to be better."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import as_numbers, is_concrete, require_real
from jaxcert.numerics._rounding import cast, compute_dtype, convert
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
) -> SequentialState:
    r"""Two policies A and B before their first pair: a trial of each on a scene that is drawn anew.

    .. math:: W_t = \frac13 \sum_{\lambda} \prod_{i \le t} \Big(1 + \lambda \frac{D_i - c}{w + c}\Big),
              \qquad D_i = A_i - B_i \in [-w, w]

    A is shown to be better by more than the margin c when this evidence reaches a goal, and B when the evidence of the
    negated differences does. With probability at least 1 - delta neither is shown wrongly, whenever and why the trials
    end. For successes and failures only the discordant pairs count, on which exactly one policy succeeds. Fair coins
    reach the goal within ``max_pairs`` with probability at most delta/2, computed exactly. For scores, and for a
    margin, the goal is 2/delta.

    Args:
        delta: probability with which a policy may be shown better that is not, in (0, 1); fixed beforehand, as all is.
        support: (a, b), which holds every possible score; None for successes and failures.
        margin: c, at least 0 and below the largest possible difference.
        bets: lambda, each in (0, 1]; by default 1/8, 1/2 and 13/16.
        max_pairs: the number of pairs after which none is shown any more; for successes of discordant ones, by default
            200 and at most 2000. For scores there is none by default.

    Returns:
        A ``SequentialState`` of two tasks: that A is better, and that B is.

    Raises:
        ValueError: for a delta outside (0, 1), a support that is not finite, or another margin.

    Example:
        >>> init_pairs(delta=0.05).wealth.shape
        (2, 1, 3)

    Reference: the theory page, section 18.4.
    """
    dtype = compute_dtype(margin)
    level = probability("delta", delta, dtype, "down", validate=True, scalar=True) * np.asarray(0.5, dtype)
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
    return init(2, half, support=ends, beta=level, **rule)


def update_pairs(
    state: SequentialState, returns_a: Array, returns_b: Array, *, validate: bool = True
) -> SequentialState:
    """Take in finished pairs, in the order in which they were begun; after the decision they change nothing.

    A pair with a NaN or another impossible return, which cannot be refused because it is traced, leaves both policies
    without a decision for good.

    Args:
        state: of the pairs so far.
        returns_a: float[s] or bool[s] of policy A, or one of them; a trial that broke off is a failure, or has the
            lowest score. No pair may be left out.
        returns_b: the same of policy B.
        validate: raise for impossible returns that are concrete.

    Returns:
        The state after them.

    Raises:
        ValueError: for other shapes, or an impossible return.

    Example:
        >>> state = init_pairs(delta=0.05)
        >>> state = update_pairs(state, [True] * 9, [False, False, True, False, False, False, False, False, False])
        >>> int(better_policy(state))
        1
    """
    both = returns_a, returns_b
    for name, x in zip(("returns_a", "returns_b"), both, strict=True):
        require_real(name, x)
    if np.shape(returns_a) != np.shape(returns_b) or np.ndim(returns_a) > 1:
        raise ValueError(f"returns have shapes {np.shape(returns_a)} and {np.shape(returns_b)}; expected twice [s]")
    if validate and is_concrete(state, *both):
        _check_pairs(state, *(np.atleast_1d(np.asarray(x, np.float64)) for x in both))
    rounded = [jnp.atleast_1d(convert(x, state.wealth.dtype, side)) for x in both for side in ("down", "up")]
    return _after_pairs(state, *rounded)


def better_policy(state: SequentialState) -> jax.Array:
    """The policy that has been shown to be better.

    Args:
        state: of the pairs so far.

    Returns:
        1 for A, -1 for B, 0 for none, int32[...]. It holds whenever it was looked at.

    Example:
        >>> int(better_policy(init_pairs(delta=0.05)))
        0
    """
    shown = state.passed[..., 0] & state.valid
    return shown[..., 0].astype(jnp.int32) - shown[..., 1].astype(jnp.int32)


def _check_pairs(state: SequentialState, a: np.ndarray, b: np.ndarray) -> None:
    binary, ends = bool(state.is_binary), (state.low, state.high)
    checks = {"returns_a": (a, -np.inf, np.inf), "returns_b": (b, -np.inf, np.inf)}
    checks |= {} if binary else {"the difference of returns": (a - b, *ends)}
    for name, each in checks.items():
        check_returns(*each, None, binary=binary, place_of=lambda i, name=name: f"{name} of pair {i[0]}")


@jax.jit
def _after_pairs(
    state: SequentialState, a_down: jax.Array, a_up: jax.Array, b_down: jax.Array, b_up: jax.Array
) -> SequentialState:
    def one(state: SequentialState, pair: tuple[jax.Array, ...]) -> tuple[SequentialState, None]:
        a, a_above, b, b_above = pair
        outcomes = jnp.stack([a, b])
        is_outcome = jnp.all((outcomes == 0) | (outcomes == 1))
        discordant = jnp.where(is_outcome, outcomes, jnp.nan)
        differences = jnp.stack([difference_down(a, b_above), difference_down(b, a_above)])
        x = jnp.where(state.is_binary, discordant, differences)
        counts = ~(state.is_binary & is_outcome & (a == b)) & ~jnp.any(state.passed)
        return advance(state, x, jnp.broadcast_to(counts, x.shape)), None

    return jax.lax.scan(one, state, (a_down, a_up, b_down, b_up))[0]
