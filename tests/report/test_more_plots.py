"""Plots of bands, shifted and compared certificates, the sampled tasks, and their sizes."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
from handmade import make_certificate
from matplotlib.figure import Figure

import jaxcert
from jaxcert.certificates._certificate import DIFFERENCE
from jaxcert.report import plot_certificates
from jaxcert.report._in_words import Sample
from jaxcert.report.plots._curve_plots import draw_curve
from jaxcert.tables import Returns


def test_a_new_figure_is_one_column_wide_and_given_axes_are_used():
    certificate = make_certificate()
    assert tuple(plot_certificates(certificate).figure.get_size_inches()) == (3.5, 2.5)
    given = Figure(figsize=(7, 2)).subplots(1, 2)
    before = plt.get_fignums()
    assert plot_certificates(certificate, ax=given[1]) is given[1]
    assert not given[0].lines
    assert plt.get_fignums() == before
    assert tuple(given[1].figure.get_size_inches()) == (7, 2)


def test_a_curve_says_of_which_tasks_and_policies_it_is():
    one = make_certificate()
    shifted = jaxcert.certify_shift(one, divergence="ratio", radius=2.0)
    weighted = dataclasses.replace(one, question="weighted", source="reweighted")
    axes = plot_certificates({"A": shifted, "": weighted, "B": one})
    assert [line.get_label() for line in axes.lines] == ["A (shifted tasks)", "reweighted tasks", "B"]
    assert axes.get_xlabel().startswith("threshold B,")
    axes = plot_certificates(dataclasses.replace(one, question="improvement", quantity=DIFFERENCE))
    assert axes.lines[0].get_label() == "policy A minus B"
    assert axes.get_xlabel() == "margin c, each fixed beforehand"


def read_off(line, level: float) -> float:
    """The value of a step curve there: of the first of its points that is not below."""
    assert line.get_drawstyle() == "steps-pre"
    return line.get_ydata()[np.searchsorted(line.get_xdata(), level)]


def test_the_share_of_tasks_is_drawn_as_the_steps_that_it_has():
    means = np.array([0.7, 0.2, 0.5, 0.5])
    certificate = make_certificate()
    sample = Sample([Returns(means[:, None], None, np.arange(4))], (0.0, 1.0))
    draw_curve(axes := Figure().add_subplot(), certificate, sample)
    *_, on_page = axes.lines
    *_, alone = plot_certificates(certificate, sampled=means).lines
    assert alone.get_label() == "sampled tasks"
    np.testing.assert_allclose(alone.get_xydata(), [[0.2, 1], [0.5, 0.75], [0.5, 0.5], [0.7, 0.25], [0.7, 0]])
    for level in (0.1, 0.2, 0.21, 0.5, 0.51, 0.69, 0.7):
        assert read_off(on_page, level) == read_off(alone, level) == (means >= level).mean()
