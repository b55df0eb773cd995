"""The usual mistakes in returns, found before they become certificates."""

from jaxcert.diagnostics._diagnose import Finding, diagnose

__all__ = ["Finding", "diagnose"]
