"""Rollouts one after another, until each task is decided, or one of two policies is shown to be better."""

from jaxcert.sequential._experiment import certificate, init, update
from jaxcert.sequential._pairs import init_pairs, shown_better, update_pairs
from jaxcert.sequential._recorded import certify_sequential
from jaxcert.sequential._wealth import SequentialState

__all__ = [
    "SequentialState",
    "certificate",
    "certify_sequential",
    "init",
    "init_pairs",
    "shown_better",
    "update",
    "update_pairs",
]
