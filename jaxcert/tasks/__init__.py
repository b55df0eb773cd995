"""Task distributions and environments, one module each, and the interface for environments of other libraries."""

from jaxcert.tasks import bridge_world, pendulum, simple_grid
from jaxcert.tasks._multi_task import MultiTaskEnv

__all__ = ["MultiTaskEnv", "bridge_world", "pendulum", "simple_grid"]
