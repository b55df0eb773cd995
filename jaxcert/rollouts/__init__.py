"""From policies and tasks to returns, and to certificates."""

from jaxcert.rollouts._adaptive import AdaptiveCertificate, certify_adaptive
from jaxcert.rollouts._certify_policy import PolicyCertificate, certify_policy
from jaxcert.rollouts._collect import collect
from jaxcert.rollouts._gymnasium import collect_gymnasium
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._paired_trials import PairedTrials
from jaxcert.rollouts._policy import Policy, brax_policy
from jaxcert.rollouts._recorded_trials import RecordedTrials
from jaxcert.rollouts._trials import Trials

__all__ = [
    "AdaptiveCertificate",
    "MultiTaskEnv",
    "PairedTrials",
    "Policy",
    "PolicyCertificate",
    "RecordedTrials",
    "Trials",
    "brax_policy",
    "certify_adaptive",
    "certify_policy",
    "collect",
    "collect_gymnasium",
]
