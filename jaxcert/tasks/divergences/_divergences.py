"""The four divergences of a pair of distributions, and what they imply about each other."""

from decimal import Decimal
from typing import NamedTuple

from jaxcert.tasks.divergences._decimals import ABSOLUTE, HALF, INFINITY, RELATIVE

# For pairs of distributions between which none is known.
OTHER_WAYS = (
    "state the radius of the shift yourself; or bound the density ratio of the tasks where it is bounded, and add the "
    "share of the others (shifted_epsilon by one, then by the other); or weight the tasks (certify_weighted). See "
    "'Where none is known' on the page on task distributions"
)


class Divergences(NamedTuple):
    """Upper bounds on the divergences of Q from P; each is the exact value but for its margin, where that is known.

    Attributes:
        total_variation: sup_A |Q(A) - P(A)|.
        kl: E_Q[ln dQ/dP].
        chi2: E_P[(dQ/dP - 1)²].
        ratio: the essential supremum of dQ/dP.
    """

    total_variation: Decimal = Decimal(1)
    kl: Decimal = INFINITY
    chi2: Decimal = INFINITY
    ratio: Decimal = INFINITY


SAME = Divergences(Decimal(0), Decimal(0), Decimal(0), Decimal(1))


def with_margin(found: Divergences) -> Divergences:
    """The values of a formula moved up by what it can have lost; infinite for a value that is NaN."""
    distance, kl, chi2, ratio = (INFINITY if value.is_nan() else value for value in found)
    raised = [max(value, Decimal(0)) * (1 + RELATIVE) + ABSOLUTE for value in (distance, kl, chi2)]
    return tightened(Divergences(*raised, ratio=max(ratio, Decimal(1)) * (1 + RELATIVE)))


def tightened(found: Divergences) -> Divergences:
    """Each replaced by what the others imply, where that is less."""
    distance, kl, chi2, ratio = found
    chi2 = max(min(chi2, ratio - 1), Decimal(0))
    kl = min(kl, (1 + chi2).ln())
    implied = [(kl * HALF).sqrt(), (1 - (-kl).exp()).sqrt(), chi2.sqrt() * HALF, 1 - 1 / ratio]
    # A sum 1 + χ² near 1 is rounded, the root of its logarithm more so.
    return Divergences(min(Decimal(1), distance, *(value + ABSOLUTE for value in implied)), kl, chi2, ratio)
