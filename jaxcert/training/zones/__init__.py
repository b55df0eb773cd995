"""Training on zones: PPO for a policy that reads formulas, with a curriculum."""

from jaxcert.training.zones._learner import Learned, Learner, initial_learner, update
from jaxcert.training.zones._zones_settings import LESSONS, Lesson, ZonesSettings

__all__ = ["LESSONS", "Learned", "Learner", "Lesson", "ZonesSettings", "initial_learner", "update"]
