"""New tasks from another distribution than the sampled one, at a stated distance."""

from jaxcert.certificates.shift._certify_shift import ShiftCertificate, certify_shift
from jaxcert.certificates.shift._registry import DIVERGENCES
from jaxcert.certificates.shift._shifted_epsilon import shifted_epsilon

__all__ = ["DIVERGENCES", "ShiftCertificate", "certify_shift", "shifted_epsilon"]
