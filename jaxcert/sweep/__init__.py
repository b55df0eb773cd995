"""Thousands of certificates at once: every combination of a grid of settings, for every seed."""

from jaxcert.sweep._grid import Grid, SweepResult
from jaxcert.sweep._sweep import sweep

__all__ = ["Grid", "SweepResult", "sweep"]
