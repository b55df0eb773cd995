"""PAC-IMDP: lower bounds from transition counts and a known graph, by robust value iteration.

Reference: Schnitzer, Abate, Parker, Certifiably Robust Policies for Uncertain Parametric Environments, TACAS 2025.
"""

from jaxcert.baselines.interval_mdp._value import lower_bound
from jaxcert.tasks._markov_chain import Chain

__all__ = ["Chain", "lower_bound"]
