"""Certificates for multi-task reinforcement learning policies, in JAX."""

from jaxcert import bounds, numerics
from jaxcert._version import __version__
from jaxcert.certificates import (
    BandCertificate,
    Certificate,
    IntervalCertificate,
    ScenarioSolution,
    Status,
    TailCertificate,
    binomial_epsilon,
    certify,
    certify_band,
    certify_interval,
    certify_lower_bounds,
    certify_lower_bounds_band,
    certify_safety_level,
    certify_tail,
    scenario_epsilon,
)
from jaxcert.returns import sample_returns
from jaxcert.rollouts import AdaptiveCertificate, PolicyCertificate, certify_adaptive, certify_policy
from jaxcert.sequential import certify_sequential

__all__ = [
    "AdaptiveCertificate",
    "BandCertificate",
    "Certificate",
    "IntervalCertificate",
    "PolicyCertificate",
    "ScenarioSolution",
    "Status",
    "TailCertificate",
    "__version__",
    "binomial_epsilon",
    "bounds",
    "certify",
    "certify_adaptive",
    "certify_band",
    "certify_interval",
    "certify_lower_bounds",
    "certify_lower_bounds_band",
    "certify_policy",
    "certify_safety_level",
    "certify_sequential",
    "certify_tail",
    "numerics",
    "sample_returns",
    "scenario_epsilon",
]
