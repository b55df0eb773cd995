"""Rollouts one after another, until each task is decided."""

from jaxcert.sequential._experiment import certificate, init, update
from jaxcert.sequential._recorded import certify_sequential
from jaxcert.sequential._wealth import SequentialCertificate, SequentialState

__all__ = [
    "SequentialCertificate",
    "SequentialState",
    "certificate",
    "certify_sequential",
    "init",
    "update",
]
