"""New tasks from a distribution that weighs the sampled tasks differently, with a known density ratio."""

from jaxcert.certificates.weighted._certify_weighted import WeightedCertificate, certify_weighted
from jaxcert.certificates.weighted._task_weights import task_weights

__all__ = ["WeightedCertificate", "certify_weighted", "task_weights"]
