"""Mergeable summaries of returns, from which certificates are computed as from the returns themselves."""

from jaxcert.returns.summaries import Histogram

__all__ = ["Histogram"]
