"""Methods with which rollout bounds are compared."""

from jaxcert.baselines import interval_mdp
from jaxcert.baselines._plug_in import PlugInEstimate, certify_known_performances, certify_plug_in

__all__ = ["PlugInEstimate", "certify_known_performances", "certify_plug_in", "interval_mdp"]
