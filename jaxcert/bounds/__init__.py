"""Lower confidence bounds on the mean return of each task, all with one signature."""

from jaxcert.bounds._betting import BETTING, betting
from jaxcert.bounds._bound import Bound, evaluate, prepare
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON, clopper_pearson
from jaxcert.bounds._data import returns_dtype
from jaxcert.bounds._dkw import DKW, dkw
from jaxcert.bounds._empirical_bernstein import EMPIRICAL_BERNSTEIN, empirical_bernstein
from jaxcert.bounds._hoeffding import HOEFFDING, hoeffding

__all__ = [
    "BOUNDS",
    "Bound",
    "betting",
    "clopper_pearson",
    "dkw",
    "empirical_bernstein",
    "evaluate",
    "hoeffding",
    "prepare",
    "returns_dtype",
]

BOUNDS = {b.name: b for b in (BETTING, CLOPPER_PEARSON, DKW, EMPIRICAL_BERNSTEIN, HOEFFDING)}
"""The bounds by name, as ``certify(bound=...)`` takes them."""
