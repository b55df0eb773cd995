"""Methods that rollout bounds are compared with."""

from jaxcert.baselines import interval_mdp

__all__ = ["interval_mdp"]
