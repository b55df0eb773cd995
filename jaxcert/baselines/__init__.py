"""Methods with which rollout bounds are compared."""

from jaxcert.baselines import interval_mdp

__all__ = ["interval_mdp"]
