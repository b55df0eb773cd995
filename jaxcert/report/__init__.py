"""Readers, writers and plots of certificates; each imports its optional dependencies when it is used."""

from jaxcert.report import check_certificate, check_trials
from jaxcert.report._certificate_file import certificate_schema, read_certificate
from jaxcert.report._exact_check import check_exactly
from jaxcert.report._protocol import Protocol
from jaxcert.report._records import (
    certificate_document,
    certificate_record,
    document_digest,
    document_text,
    write_certificates,
)
from jaxcert.report._trial_records import trial_records
from jaxcert.report._verify import Verification, verify
from jaxcert.report.html._report_page import write_report
from jaxcert.report.plots._axes import save_figure
from jaxcert.report.plots._curve_plots import plot_certificates, step_curve
from jaxcert.report.plots._evidence_plot import plot_evidence
from jaxcert.report.plots._interval_plot import Interval, plot_intervals

__all__ = [
    "Interval",
    "Protocol",
    "Verification",
    "certificate_document",
    "certificate_record",
    "certificate_schema",
    "check_certificate",
    "check_exactly",
    "check_trials",
    "document_digest",
    "document_text",
    "plot_certificates",
    "plot_evidence",
    "plot_intervals",
    "read_certificate",
    "save_figure",
    "step_curve",
    "trial_records",
    "verify",
    "write_certificates",
    "write_report",
]
