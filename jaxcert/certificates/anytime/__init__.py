"""Certificates that hold at every moment while tasks come in."""

from jaxcert.certificates.anytime._anytime_epsilon import anytime_epsilon
from jaxcert.certificates.anytime._certify_anytime import AnytimeCertificate, certify_anytime, certify_in_order

__all__ = ["AnytimeCertificate", "anytime_epsilon", "certify_anytime", "certify_in_order"]
