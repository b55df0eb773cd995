"""Plots that a paper can print: each draws in the axes that it is given, or in a new figure for one column."""

from jaxcert.report.plots._axes import check_figure_path, save_figure
from jaxcert.report.plots._interval_plot import Interval, plot_intervals
from jaxcert.report.plots._share_plot import plot_certificates, plot_levels
from jaxcert.report.plots._task_plots import plot_bounds, plot_plan
from jaxcert.report.plots._time_plots import plot_evidence, plot_training

__all__ = [
    "Interval",
    "check_figure_path",
    "plot_bounds",
    "plot_certificates",
    "plot_evidence",
    "plot_intervals",
    "plot_levels",
    "plot_plan",
    "plot_training",
    "save_figure",
]
