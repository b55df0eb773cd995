"""Mergeable summaries of returns, from which certificates are computed as from the returns themselves."""

from jaxcert.returns.summaries import Histogram, Moments, Summary

__all__ = ["Histogram", "Moments", "Summary"]
