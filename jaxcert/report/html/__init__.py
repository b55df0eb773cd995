"""A certificate, a leaderboard or groups of rows as one page of HTML, to be read, printed and sent."""

from jaxcert.report.html._pages_of_several import write_several
from jaxcert.report.html._report_page import write_report

__all__ = ["write_report", "write_several"]
