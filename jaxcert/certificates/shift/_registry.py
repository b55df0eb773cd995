"""The divergences by name, as ``shifted_epsilon(divergence=...)`` takes them."""

from jaxcert.certificates.shift._divergence import CHI2, KULLBACK_LEIBLER, RATIO, TOTAL_VARIATION

_ALL = (
    CHI2,
    KULLBACK_LEIBLER,
    RATIO,
    TOTAL_VARIATION,
)
DIVERGENCES = {divergence.name: divergence for divergence in _ALL}
