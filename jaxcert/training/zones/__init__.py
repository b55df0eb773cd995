"""Training on zones: PPO for a policy that reads formulas, with a curriculum."""

from jaxcert.training.zones._zones_settings import LESSONS, Lesson, ZonesSettings

__all__ = ["LESSONS", "Lesson", "ZonesSettings"]
