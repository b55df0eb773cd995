"""Reach-avoid tasks in linear temporal logic (LTL) as arrays, their formulas, and their progression.

Reference: Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, for the distribution of tasks.
"""

from jaxcert.tasks.ltl._progression import Remaining, initial_state, is_satisfied, is_violated, remaining, step
from jaxcert.tasks.ltl._reach_avoid import ReachAvoid, from_stages, sample_reach_avoid, to_formula

__all__ = [
    "ReachAvoid",
    "Remaining",
    "from_stages",
    "initial_state",
    "is_satisfied",
    "is_violated",
    "remaining",
    "sample_reach_avoid",
    "step",
    "to_formula",
]
