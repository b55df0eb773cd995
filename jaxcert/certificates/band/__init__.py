"""Certificates at all thresholds together, so that one may be chosen after a look at the curve."""

from jaxcert.certificates.band._band_steps import BandCertificate
from jaxcert.certificates.band._certify_band import certify_band, certify_lower_bounds_band
from jaxcert.certificates.band._tail_certificate import TailCertificate, certify_tail

__all__ = ["BandCertificate", "TailCertificate", "certify_band", "certify_lower_bounds_band", "certify_tail"]
