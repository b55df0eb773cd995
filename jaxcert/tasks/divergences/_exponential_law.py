"""Exponential distributions."""

from decimal import Decimal
from typing import NamedTuple

from jaxcert.tasks.divergences._decimals import INFINITY
from jaxcert.tasks.divergences._divergences import Divergences, with_margin


class ExponentialLaw(NamedTuple):
    """The exponential distribution, of mean 1 / rate."""

    rate: Decimal


def exponential_divergences(q: ExponentialLaw, p: ExponentialLaw) -> Divergences:
    """In closed form, with s the rate of q and r that of p: the densities cross at x = ln(s/r) / (s - r)."""
    s, r = q.rate, p.rate
    crossing = (s / r).ln() / (s - r)
    distance = abs((-r * crossing).exp() - (-s * crossing).exp())
    kl = (s / r).ln() + r / s - 1
    chi2 = (s - r) ** 2 / (r * (2 * s - r)) if 2 * s > r else INFINITY
    return with_margin(Divergences(distance, kl, chi2, s / r if s > r else INFINITY))
