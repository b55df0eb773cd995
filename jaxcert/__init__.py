"""Certificates for multi-task reinforcement learning policies, in JAX."""

from jaxcert import bounds, numerics
from jaxcert._version import __version__
from jaxcert.certificates import (
    Certificate,
    EpisodeCertificate,
    ImprovementCertificate,
    MeanCertificate,
    RankingCertificate,
    ScenarioSolution,
    Status,
    binomial_epsilon,
    certify,
    certify_cvar,
    certify_episode,
    certify_improvement,
    certify_lower_bounds,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    certify_safety_level,
    consecutive_successes_threshold,
    scenario_epsilon,
)
from jaxcert.returns import sample_returns
from jaxcert.rollouts import AdaptiveCertificate, PolicyCertificate, certify_adaptive, certify_policy
from jaxcert.sequential import certify_sequential

__all__ = [
    "AdaptiveCertificate",
    "Certificate",
    "EpisodeCertificate",
    "ImprovementCertificate",
    "MeanCertificate",
    "PolicyCertificate",
    "RankingCertificate",
    "ScenarioSolution",
    "Status",
    "__version__",
    "binomial_epsilon",
    "bounds",
    "certify",
    "certify_adaptive",
    "certify_cvar",
    "certify_episode",
    "certify_improvement",
    "certify_lower_bounds",
    "certify_mean",
    "certify_mean_difference",
    "certify_policy",
    "certify_ranking",
    "certify_safety_level",
    "certify_sequential",
    "consecutive_successes_threshold",
    "numerics",
    "sample_returns",
    "scenario_epsilon",
]
