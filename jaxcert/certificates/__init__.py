"""From per-task lower bounds to statements about new tasks."""

from jaxcert.certificates._anytime import anytime_epsilon, certify_anytime
from jaxcert.certificates._band import certify_band, certify_lower_bounds_band
from jaxcert.certificates._certificate import Certificate, Status
from jaxcert.certificates._certify import certify, certify_lower_bounds
from jaxcert.certificates._each_task import certify_each_task
from jaxcert.certificates._episode import EpisodeCertificate, certify_episode
from jaxcert.certificates._figures import ceil_figures, confidence, floor_figures, floor_to
from jaxcert.certificates._interval import certify_interval
from jaxcert.certificates._mean import MeanCertificate, certify_mean
from jaxcert.certificates._method import Solution, binomial_epsilon
from jaxcert.certificates._pairs_and_weights import (
    certify_improvement,
    certify_mean_difference,
    certify_stratified,
    certify_weighted,
)
from jaxcert.certificates._question import Option, Question
from jaxcert.certificates._ranking import RankingCertificate, certify_ranking
from jaxcert.certificates._requirements import certify_requirements, certify_suite_requirements
from jaxcert.certificates._requirements_certificate import RequirementsCertificate
from jaxcert.certificates._safety_level import certify_safety_level
from jaxcert.certificates._scenario import scenario_epsilon
from jaxcert.certificates._shift import certify_shift, shifted_epsilon
from jaxcert.certificates._suite import SuiteCertificate, certify_suite
from jaxcert.certificates._suite_mean import certify_suite_mean
from jaxcert.certificates._worst_tasks import TailCertificate, certify_cvar, certify_tail

__all__ = [
    "Certificate",
    "EpisodeCertificate",
    "MeanCertificate",
    "Option",
    "Question",
    "RankingCertificate",
    "RequirementsCertificate",
    "Solution",
    "Status",
    "SuiteCertificate",
    "TailCertificate",
    "anytime_epsilon",
    "binomial_epsilon",
    "ceil_figures",
    "certify",
    "certify_anytime",
    "certify_band",
    "certify_cvar",
    "certify_each_task",
    "certify_episode",
    "certify_improvement",
    "certify_interval",
    "certify_lower_bounds",
    "certify_lower_bounds_band",
    "certify_mean",
    "certify_mean_difference",
    "certify_ranking",
    "certify_requirements",
    "certify_safety_level",
    "certify_shift",
    "certify_stratified",
    "certify_suite",
    "certify_suite_mean",
    "certify_suite_requirements",
    "certify_tail",
    "certify_weighted",
    "confidence",
    "floor_figures",
    "floor_to",
    "scenario_epsilon",
    "shifted_epsilon",
]
