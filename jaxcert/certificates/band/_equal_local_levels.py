"""The band whose limits all have the same level: the one-sided statistic of Berk and Jones."""

from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._method import Method
from jaxcert.certificates.band._band import Band
from jaxcert.certificates.band._local_level import local_level

# u_k = U(k; n, level): the binomial certificate at a smaller delta.
EQUAL_LOCAL_LEVELS = Band(
    Method("equal_local_levels", BINOMIAL.solve, BINOMIAL.default_beta, zero_beta=True),
    local_level,
    parts=lambda last: last + 1,
    takes_smallest=True,
)
