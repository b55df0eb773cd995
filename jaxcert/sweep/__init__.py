"""Thousands of certificates at once: every combination of a grid of settings, for every seed."""

from jaxcert.sweep._grid import Grid
from jaxcert.sweep._plan import Plan
from jaxcert.sweep._result import SeedStatistics, SweepResult
from jaxcert.sweep._sweep import plan_sweep, sweep

__all__ = ["Grid", "Plan", "SeedStatistics", "SweepResult", "plan_sweep", "sweep"]
