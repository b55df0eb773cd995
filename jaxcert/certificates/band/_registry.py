"""The kinds of bands by name, as ``certify_band(kind=...)`` takes them."""

from jaxcert.certificates.band._band_levels import DKW_BAND, EQUAL_LOCAL_LEVELS

_ALL = (
    DKW_BAND,
    EQUAL_LOCAL_LEVELS,
)
BANDS = {band.name: band for band in _ALL}
