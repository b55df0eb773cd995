"""The methods by name, as ``certify(method=...)`` takes them, and which of them is the default."""

import warnings
from typing import Any

import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._arguments import choose, default_bound, is_auto
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate
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
COUNTING = {name: method for name, method in METHODS.items() if method.bound is None}


def defaults(bound: str | None, method: str | None, returns: Any, beta: Any = None) -> tuple[str, str]:
    """The names of bound and method; if no method is given, successes with their bound have one of their own.

    Returns of 0 and 1 have it for "auto", too, which then chooses among the levels that are attained.
    """
    usual = default_bound(None, returns)
    if method is None:
        binary = usual == CLOPPER_PEARSON.name or is_auto(beta)
        method = ATTAINED.name if binary and (bound or usual) == CLOPPER_PEARSON.name else BINOMIAL.name
    own = choose("method", method, METHODS).bound
    return bound or (usual if own is None else own.name), method


def warned(certificate: Certificate) -> Certificate:
    """The certificate, with a warning where its method is not sound by itself, if the values are concrete."""
    method, n = METHODS.get(certificate.method), certificate.num_tasks
    if method is not None and method.caveat is not None and is_concrete(certificate.beta, certificate.delta):
        beta, delta = np.asarray(certificate.beta), np.asarray(certificate.delta)
        if not np.all(method.is_sound(beta, delta, n)):
            caveat = method.caveat(float(beta), float(delta), n)
            warnings.warn(f"{method.name} at {caveat}", UserWarning, stacklevel=3)
    return certificate


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds.

    A kind with a method of its own, as a band, counts them as well.
    """
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)
