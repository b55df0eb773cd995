"""The divergences by name, as ``shifted_epsilon(divergence=...)`` takes them."""

from jaxcert.certificates.shift._closed_forms import CHI2, RATIO, TOTAL_VARIATION
from jaxcert.certificates.shift._kullback_leibler import KULLBACK_LEIBLER

_ALL = (
    CHI2,
    KULLBACK_LEIBLER,
    RATIO,
    TOTAL_VARIATION,
)
DIVERGENCES = {divergence.name: divergence for divergence in _ALL}
