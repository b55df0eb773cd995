"""From policies, or from rewards and events, to one number per rollout; and the sample returns shipped with jaxcert."""

from jaxcert.rollouts._collect import collect
from jaxcert.rollouts._gymnasium import collect_gymnasium
from jaxcert.rollouts._metrics import (
    discounted_return,
    shifted_return,
    threshold_shift,
    truncated_return,
    undiscounted_return,
)
from jaxcert.rollouts._policy import Policy, brax_policy
from jaxcert.rollouts._reach import reach, reach_avoid
from jaxcert.rollouts._samples import sample_returns
from jaxcert.rollouts._support import return_support

__all__ = [
    "Policy",
    "brax_policy",
    "collect",
    "collect_gymnasium",
    "discounted_return",
    "reach",
    "reach_avoid",
    "return_support",
    "sample_returns",
    "shifted_return",
    "threshold_shift",
    "truncated_return",
    "undiscounted_return",
]
