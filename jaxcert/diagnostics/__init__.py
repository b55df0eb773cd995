"""Find the usual mistakes in returns before they become certificates."""

from jaxcert.diagnostics._diagnose import Finding, diagnose

__all__ = ["Finding", "diagnose"]
