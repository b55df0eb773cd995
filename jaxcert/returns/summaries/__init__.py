"""Mergeable summaries of returns, from which certificates are computed as from the returns themselves."""

from jaxcert.returns.summaries._histogram import Histogram
from jaxcert.returns.summaries._moments import Moments

Summary = Histogram | Moments

__all__ = ["Histogram", "Moments", "Summary"]
