"""Training, and certificates while a policy trains."""

from jaxcert.training._brax_env import brax_compatibility, brax_env
from jaxcert.training._checkpoint_budget import CheckpointBudget
from jaxcert.training._hook import CertificationHook, Checkpoint

__all__ = [
    "CertificationHook",
    "Checkpoint",
    "CheckpointBudget",
    "brax_compatibility",
    "brax_env",
]
