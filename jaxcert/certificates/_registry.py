"""The methods by name, as ``certify(method=...)`` takes them."""

from typing import Any

from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._scenario import SCENARIO
from jaxcert.certificates._soft import SOFT

_ALL = (
    BINOMIAL,
    SCENARIO,
    SOFT,
    ATTAINED,
)
METHODS = {method.name: method for method in _ALL}
# The methods that need no more than the number of violations.
COUNTING = {name: method for name, method in METHODS.items() if method.from_returns is None}
# The methods that go on from counts of the returns of each task.
COUNTED = {
    name: method.from_returns.counts
    for name, method in METHODS.items()
    if method.from_returns is not None and method.from_returns.counts is not None
}


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds.

    A kind with a method of its own, as a band, counts them as well.
    """
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)
