"""Distances between two distributions of tasks, computed with 400 digits and rounded up: the radius of a shift."""

from jaxcert.tasks.divergences._task_divergence import task_divergence

__all__ = ["task_divergence"]
