"""From per-task lower bounds to statements about new tasks."""

from jaxcert.certificates._binomial import binomial_epsilon
from jaxcert.certificates._certificate import Certificate, sentence
from jaxcert.certificates._certify import certify, certify_lower_bounds, certify_safety_level
from jaxcert.certificates._figures import ceil_figures, confidence, floor_figures, floor_to
from jaxcert.certificates._policy import PolicyCertificate, certify_policy
from jaxcert.certificates._scenario import ScenarioSolution, scenario_epsilon
from jaxcert.certificates._status import Status

__all__ = [
    "Certificate",
    "PolicyCertificate",
    "ScenarioSolution",
    "Status",
    "binomial_epsilon",
    "ceil_figures",
    "certify",
    "certify_lower_bounds",
    "certify_policy",
    "certify_safety_level",
    "confidence",
    "floor_figures",
    "floor_to",
    "scenario_epsilon",
    "sentence",
]
