"""Task distributions and environments, one module each."""

from jaxcert.tasks import simple_grid

__all__ = ["simple_grid"]
