"""Legends and titles: where they are drawn, beside the data and the rest."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from handmade import Recorded, make_certificate
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from jaxcert.certificates import certify_lower_bounds
from jaxcert.questions import QUESTIONS
from jaxcert.report import Interval, plot_bounds, plot_certificates, plot_intervals, plot_plan, plot_training
from jaxcert.report.html import _report_parts
from jaxcert.report.html._report_tables import Sample

LONG = "a_file_with_a_name_without_any_blank_" * 3 + "and one with many blanks " * 5
CORNERS = [(0.25, 0.0), (0.25, 1.0), (0.75, 0.0), (0.75, 1.0)]
SORTED = np.linspace(0, 1, 50)


def check_nothing_is_covered(axes) -> None:
    """The legend is in the picture, below the axes and their label, and so far from every point that is drawn."""
    axes.figure.figure.draw_without_rendering()
    legend, title, whole = axes.get_legend().get_window_extent(), axes.title.get_window_extent(), axes.figure.bbox
    assert axes.get_legend().get_texts()
    for place in (axes.bbox, axes.xaxis.get_tightbbox(), title):
        assert Bbox.intersection(legend, place) is None
    for box in (legend, title) if axes.get_title() else (legend,):
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
    for line in axes.lines:
        points = line.get_transform().transform(line.get_xydata())
        assert not any(legend.contains(*point) for point in points[np.isfinite(points).all(axis=1)])


@pytest.mark.parametrize("title", ["", "Cheetah", LONG], ids=["no title", "short", "long"])
@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"], list("abcdefghi"), [LONG, LONG[2:]]])
def test_the_legend_of_curves_covers_none_of_them(names, title):
    axes = plot_certificates({name: make_certificate() for name in names}, points=CORNERS, title=title)
    check_nothing_is_covered(axes)
    assert [text.get_text().replace("\n", "")[:4] for text in axes.get_legend().get_texts()] == [
        name[:4] for name in [*names, "requested"]
    ]
    # The picture grows with many lines of text; the axes stay readable.
    assert axes.bbox.height / axes.figure.dpi > 1.4


def made_plan():
    options = [
        SimpleNamespace(name=name, num_rollouts=m, cost=c * m, value=0.9)
        for (c, name), m in itertools.product(enumerate(("betting", "hoeffding", "soft", "dkw"), 1), (1, 10, 100))
    ]
    return SimpleNamespace(considered=options, power=0.9, heading="Wanted: a wish", objective="least cost")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_bounds({"betting": SORTED, "dkw": 1 - SORTED}, performances=SORTED, title="a"),
        lambda: plot_certificates(make_certificate(), sampled=1e7 * SORTED, title="a"),
        lambda: plot_training([Recorded(i * 10**6, make_certificate()) for i in (1, 2)], title="Pendulum"),
        lambda: plot_plan(made_plan()),
        lambda: plot_intervals({f"{LONG}{i}": Interval(i, i + 3, letters="ab") for i in range(60)}, title=LONG),
    ],
    ids=["bounds", "sampled", "training", "plan", "intervals"],
)
def test_no_other_plot_is_covered(draw):
    check_nothing_is_covered(draw())


def test_axes_that_are_given_have_room_for_it():
    """Also in a figure without a layout, where it would be cut off."""
    first, second = Figure(figsize=(7, 4)).subplots(1, 2)
    part = Figure(figsize=(7, 4)).subfigures(1, 2)[1].subplots()
    for axes in (first, second, part):
        plot_certificates(
            {"one": make_certificate(), "two": make_certificate()}, points=CORNERS, title=LONG[:60], ax=axes
        )
        check_nothing_is_covered(axes)


def of_means(means) -> Sample:
    return Sample(means)


def test_figures_of_a_report_are_not_covered(monkeypatch):
    monkeypatch.setattr(_report_parts, "_svg", lambda axes: axes)
    certificate = make_certificate()
    shown = {_report_parts.alone(QUESTIONS["safety"]): certificate, _report_parts.TOGETHER: certificate}
    check_nothing_is_covered(_report_parts.curve_svg(shown, certificate, of_means(SORTED)))
    check_nothing_is_covered(_report_parts.tasks_svg(certificate, of_means(np.asarray(certificate.lower_bounds))))


@pytest.mark.parametrize("num_tasks", [1, 3, 10_000])
@pytest.mark.parametrize("threshold", [0.5, 1.0], ids=["little", "nothing"])
def test_figures_of_a_page_that_certifies_little_are_not_covered(monkeypatch, num_tasks, threshold):
    """Also a point at the edge: of one threshold, few tasks, and where nothing is certified."""
    monkeypatch.setattr(_report_parts, "_svg", lambda axes: axes)
    lower = np.linspace(0, 0.9, num_tasks)
    certificate = certify_lower_bounds(lower, [threshold], delta=0.01, beta=0.05)
    assert (float(certificate.safety[0]) > 0) == (threshold < 1 and num_tasks > 3)
    shown = _report_parts.curves(certificate, QUESTIONS["safety"], 0.0)
    assert len(shown) == 2
    axes = _report_parts.curve_svg(shown, certificate, of_means(lower + 0.05))
    check_nothing_is_covered(axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()][-2:] == ["requested", "sampled tasks"]
    check_nothing_is_covered(_report_parts.tasks_svg(certificate, of_means(lower + 0.05)))
