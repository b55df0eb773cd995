"""The usual mistakes in returns, found before they become certificates."""

from jaxcert.diagnostics._diagnose import diagnose
from jaxcert.diagnostics._ties import Finding

__all__ = ["Finding", "diagnose"]
