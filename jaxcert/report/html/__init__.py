"""A certificate, or a leaderboard, as one page of HTML, to be read, printed and sent."""

from jaxcert.report.html._leaderboard_page import write_leaderboard
from jaxcert.report.html._report_page import write_report

__all__ = ["write_leaderboard", "write_report"]
