"""Readers, writers and plots of certificates; each imports its optional dependencies when it is used."""

from jaxcert.report._curve import step_curve
from jaxcert.report._plan_plot import plot_plan
from jaxcert.report._plots import check_figure_path, plot_certificates, save_figure
from jaxcert.report._readers import ReturnsFile, read_returns
from jaxcert.report._returns import check_returns_path, write_returns
from jaxcert.report._sweeps import check_table_path, write_sweep
from jaxcert.report._writers import certificate_record, write_certificates

__all__ = [
    "ReturnsFile",
    "certificate_record",
    "check_figure_path",
    "check_returns_path",
    "check_table_path",
    "plot_certificates",
    "plot_plan",
    "read_returns",
    "save_figure",
    "step_curve",
    "write_certificates",
    "write_returns",
    "write_sweep",
]
