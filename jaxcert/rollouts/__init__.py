"""From policies and tasks to returns, and to certificates; with the names of ``jaxcert.returns``."""

from jaxcert.returns import (
    discounted_return,
    reach,
    reach_avoid,
    return_support,
    sample_returns,
    truncated_return,
    undiscounted_return,
)
from jaxcert.rollouts import summaries
from jaxcert.rollouts._adaptive import certify_adaptive
from jaxcert.rollouts._adaptive_file import adaptive_facts, load_adaptive, save_adaptive
from jaxcert.rollouts._certify_policy import PolicyCertificate, certify_policy
from jaxcert.rollouts._collect import collect
from jaxcert.rollouts._gymnasium import collect_gymnasium
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._paired_trials import PairedTrials
from jaxcert.rollouts._policy import Policy, brax_policy
from jaxcert.rollouts._recorded_trials import RecordedTrials
from jaxcert.rollouts._resumption import AdaptiveCertificate
from jaxcert.rollouts._trials import Trials

__all__ = [
    "AdaptiveCertificate",
    "MultiTaskEnv",
    "PairedTrials",
    "Policy",
    "PolicyCertificate",
    "RecordedTrials",
    "Trials",
    "adaptive_facts",
    "brax_policy",
    "certify_adaptive",
    "certify_policy",
    "collect",
    "collect_gymnasium",
    "discounted_return",
    "load_adaptive",
    "reach",
    "reach_avoid",
    "return_support",
    "sample_returns",
    "save_adaptive",
    "summaries",
    "truncated_return",
    "undiscounted_return",
]
