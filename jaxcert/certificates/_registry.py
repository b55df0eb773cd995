"""The methods by name, as ``certify(method=...)`` takes them."""

from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._scenario import SCENARIO

METHODS = {m.name: m for m in (BINOMIAL, SCENARIO)}
