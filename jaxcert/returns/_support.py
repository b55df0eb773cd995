"""The support of a return, from bounds on the rewards."""

import math


def return_support(
    *,
    min_reward: float,
    max_reward: float,
    horizon: int,
    discount: float = 1.0,
    worst_case_tail: bool = False,
) -> tuple[float, float]:
    r"""Bound every return of up to `horizon` steps with rewards in [min_reward, max_reward].

    With :math:`W = 1 + \gamma + \dots + \gamma^{T-1}`, and an episode of 1 to T steps,

    .. math:: a = \min(r_{min}, W r_{min}), \qquad b = \max(r_{max}, W r_{max}),

    and :math:`a = r_{min}/(1-\gamma)` with the worst-case tail. Both ends are moved outward by the rounding
    error of a float32 return, so that no return from these rewards is refused for rounding; an end at 0
    stays at 0.

    Use it as it is for `undiscounted_return` and `discounted_return`; for `truncated_return` with
    ``worst_case_tail=True``.

    Args:
        min_reward: smallest reward possible, in the unit of the rewards.
        max_reward: largest reward possible, in the unit of the rewards.
        horizon: T, the largest number of steps in a rollout.
        discount: γ in [0, 1]; smaller than 1 with a worst-case tail.
        worst_case_tail: whether unfinished rollouts get the worst-case tail of `truncated_return`, which
            needs ``min_reward <= 0``.

    Returns:
        The support (a, b) as floats.

    Raises:
        ValueError: if the reward bounds are not finite or reversed, `horizon` is below 1, `discount` is
            outside [0, 1], or a worst-case tail is requested with a discount of 1 or a positive `min_reward`.

    Example:
        >>> a, b = return_support(min_reward=0.0, max_reward=1.0, horizon=1000)
        >>> print(a, round(b))
        0.0 1000
    """
    _check(min_reward, max_reward, horizon, discount, worst_case_tail)
    weight = horizon if discount == 1 else (1 - discount**horizon) / (1 - discount)
    lowest = min_reward / (1 - discount) if worst_case_tail else min(min_reward, weight * min_reward)
    highest = max(max_reward, weight * max_reward)
    # Each addition and each power of a rounded discount costs about one rounding per step; the tail's 1 - γ
    # magnifies the rounding of γ.
    roundings = 2 * horizon + 16 + (1 / (1 - discount) if worst_case_tail else 0)
    slack = roundings * 2.0**-23
    return lowest - abs(lowest) * slack, highest + abs(highest) * slack


def _check(min_reward: float, max_reward: float, horizon: int, discount: float, worst_case_tail: bool) -> None:
    if not -math.inf < min_reward <= max_reward < math.inf:
        raise ValueError(f"min_reward and max_reward must be finite and in order, got {min_reward} and {max_reward}")
    if horizon < 1:
        raise ValueError(f"horizon must be at least 1, got {horizon}")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be in [0, 1], got {discount}")
    if worst_case_tail and (discount == 1 or min_reward > 0):
        raise ValueError(
            "worst_case_tail needs a discount below 1 and a min_reward that is not positive, "
            f"got {discount} and {min_reward}"
        )
