"""BridgeWorld: two bridges over an abyss, a safe detour or a slippery short cut, with the exact safety S(B).

A task is the pair of slip probabilities of the bridges. The agent has to reach the goal behind them; on a bridge a move
along it may become a step to the left, and whoever steps off the bridge falls.

Reference:
    Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, fig. 4a. The size of its larger
    world is not published; ``LARGE`` is ours.
"""

from jaxcert.tasks.bridge_world._exact import Chain, chain, performance, safety
from jaxcert.tasks.bridge_world._rollouts import left_policy, right_policy, table_policy, trajectories
from jaxcert.tasks.bridge_world._world import ENV, LARGE, STANDARD, World, env

__all__ = [
    "ENV",
    "LARGE",
    "STANDARD",
    "Chain",
    "World",
    "chain",
    "env",
    "left_policy",
    "performance",
    "right_policy",
    "safety",
    "table_policy",
    "trajectories",
]
