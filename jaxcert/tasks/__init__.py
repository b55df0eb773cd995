"""Task distributions and environments, one module each, and the interface for environments of other libraries."""

from jaxcert.rollouts import MultiTaskEnv
from jaxcert.tasks import bridge_world, pendulum, simple_grid, zones
from jaxcert.tasks._adapters import from_brax, from_functions

__all__ = [
    "MultiTaskEnv",
    "bridge_world",
    "from_brax",
    "from_functions",
    "pendulum",
    "simple_grid",
    "zones",
]
