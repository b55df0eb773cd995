"""Certificates of means and tails over tasks, and of the next episode."""

from jaxcert.certificates.functionals._cvar import certify_cvar
from jaxcert.certificates.functionals._episode import EpisodeCertificate, certify_episode
from jaxcert.certificates.functionals._mean import certify_mean
from jaxcert.certificates.functionals._mean_certificate import MeanCertificate
from jaxcert.certificates.functionals._successes import consecutive_successes_threshold

__all__ = [
    "EpisodeCertificate",
    "MeanCertificate",
    "certify_cvar",
    "certify_episode",
    "certify_mean",
    "consecutive_successes_threshold",
]
