"""Returns of rollouts: supports, requirements, pairs, weights, summaries, and the samples shipped here."""

from jaxcert.returns import summaries
from jaxcert.returns._example_data import sample_returns
from jaxcert.returns._paired import Paired, paired
from jaxcert.returns._required import Requirement, at_least, at_most
from jaxcert.returns._strata import stratified
from jaxcert.returns._weighted import Weighted, task_weights, weighted

__all__ = [
    "Paired",
    "Requirement",
    "Weighted",
    "at_least",
    "at_most",
    "paired",
    "sample_returns",
    "stratified",
    "summaries",
    "task_weights",
    "weighted",
]
