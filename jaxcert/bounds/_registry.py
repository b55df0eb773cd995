"""The bounds by name, as ``certify(bound=...)`` takes them."""

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._dkw import DKW
from jaxcert.bounds._empirical_bernstein import EMPIRICAL_BERNSTEIN
from jaxcert.bounds._hoeffding import HOEFFDING

_ALL = (
    BETTING,
    CLOPPER_PEARSON,
    DKW,
    EMPIRICAL_BERNSTEIN,
    HOEFFDING,
)
BOUNDS = {bound.name: bound for bound in _ALL}
