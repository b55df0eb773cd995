"""Several policies on the same tasks: improvements on most tasks, differences of means, orders."""

from jaxcert.certificates.comparisons._improvement import ImprovementCertificate, certify_improvement
from jaxcert.certificates.comparisons._mean_difference import certify_mean_difference
from jaxcert.certificates.comparisons._ranking import RankingCertificate, certify_ranking

__all__ = [
    "ImprovementCertificate",
    "RankingCertificate",
    "certify_improvement",
    "certify_mean_difference",
    "certify_ranking",
]
