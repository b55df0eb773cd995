"""Lower confidence bounds on the mean return of each task, all with one signature."""

from jaxcert.bounds._betting import betting
from jaxcert.bounds._clopper_pearson import clopper_pearson
from jaxcert.bounds._dkw import dkw
from jaxcert.bounds._empirical_bernstein import empirical_bernstein
from jaxcert.bounds._hoeffding import hoeffding

__all__ = ["betting", "clopper_pearson", "dkw", "empirical_bernstein", "hoeffding"]
