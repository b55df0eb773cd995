"""Certificates of successes and failures, from the levels that numbers of successes attain."""

from jaxcert.certificates.attained._attained import ATTAINED

__all__ = ["ATTAINED"]
