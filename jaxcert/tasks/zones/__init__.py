"""Zones: a point robot among coloured zones, whose tasks are reach-avoid formulas of linear temporal logic.

The robot moves in a square with four colours of two zones each, which it sees by a lidar, and has to visit colours one
after the other while it keeps out of others. Zones are placed anew in every episode, so that the performance of a task,
a formula, is its mean over all layouts.

Reference:
    Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, fig. 4d; the world comes from
    Vaezipoor, Li, Toro Icarte, McIlraith, LTL2Action, ICML 2021.
"""

from jaxcert.tasks.zones._formula import ReachAvoid, Remaining, to_formula
from jaxcert.tasks.zones._network import policy
from jaxcert.tasks.zones._robot import COLOURS
from jaxcert.tasks.zones._zone_env import ENV, Observation

__all__ = [
    "COLOURS",
    "ENV",
    "Observation",
    "ReachAvoid",
    "Remaining",
    "policy",
    "to_formula",
]
