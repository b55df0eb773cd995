"""The methods by name, as ``certify(method=...)`` takes them."""

from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._scenario import SCENARIO

_ALL = (
    BINOMIAL,
    SCENARIO,
)
METHODS = {method.name: method for method in _ALL}
