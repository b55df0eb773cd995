"""A certificate as one page of HTML, to be read, printed and sent."""

from jaxcert.report.html._report_page import write_report

__all__ = ["write_report"]
