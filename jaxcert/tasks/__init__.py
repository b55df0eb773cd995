"""Task distributions and environments, one module each."""

from jaxcert.tasks import bridge_world, simple_grid

__all__ = ["bridge_world", "simple_grid"]
