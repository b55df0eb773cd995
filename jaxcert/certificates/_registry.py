"""The methods by name, as ``certify(method=...)`` takes them, and the default."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose, default_bound, is_auto
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._method import BINOMIAL, MOST_DELTA, Method
from jaxcert.certificates._scenario import SCENARIO
from jaxcert.certificates._soft import SOFT

_ALL = (
    BINOMIAL,
    SCENARIO,
    SOFT,
    ATTAINED,
)
METHODS = {method.name: method for method in _ALL}
# The methods that need only the number of violations.
COUNTING = {name: method for name, method in METHODS.items() if method.bound is None}
# Those for tasks that have weights, or are from strata.
OF_WEIGHTED = {method.name: method for method in (BINOMIAL, SOFT, ATTAINED)}


def defaults(bound: str | None, method: str | None, returns: Any, beta: Any = None) -> tuple[Bound, Method]:
    """Bound and method by their names; successes with their bound have a method of their own, for "auto" too."""
    usual = default_bound(None, returns)
    if method is None:
        binary = usual == CLOPPER_PEARSON.name or is_auto(beta)
        method = ATTAINED.name if binary and (bound or usual) == CLOPPER_PEARSON.name else BINOMIAL.name
    chosen = choose("method", method, METHODS)
    own = None if chosen.bound is None else chosen.bound.name
    if own and bound and bound != own:
        raise ValueError(f"bound is {bound!r}, which has no effect with method {method!r}; expected {own!r}")
    return choose("bound", own or bound or usual, BOUNDS), chosen


def counts_bounds(certificate: Any) -> bool:
    """Whether its violations are the tasks with a lower bound below the threshold, at one level for all thresholds."""
    # A kind with a method of its own, such as a band, also counts them.
    derives = certificate.method in METHODS.keys() - COUNTING.keys()
    return not (derives or certificate.beta.ndim)


# --- tasks from strata, as many of each as its frequency says --------------------------------------------------------


def proven(delta: Any, validate: bool) -> Any:
    """The delta at which violations are counted; a traced one counts as at most ``MOST_DELTA``."""
    if validate and is_concrete(delta) and MOST_DELTA < float(delta) < 1:
        raise ValueError(f"delta is {float(delta):.6g}; for tasks drawn within strata at most {MOST_DELTA} is proved")
    xp = np if is_concrete(delta) else jnp
    return xp.where(delta < 1, xp.minimum(delta, delta.dtype.type(MOST_DELTA)), delta)
