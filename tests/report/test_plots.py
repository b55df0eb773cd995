"""Plots of certificates, and of lower ends and intervals by name: their content, and their files."""

import itertools
import warnings

import numpy as np
import pytest
from handmade import make_certificate

import jaxcert
from jaxcert.questions import QUESTIONS
from jaxcert.report import Interval, plot_certificates, plot_intervals, save_figure
from jaxcert.report.plots._interval_plot import intervals_of

RETURNS = np.random.default_rng(0).beta(9, 1, (60, 20)).astype(np.float32)


def drawn(axes) -> dict:
    return {line.get_label(): line for line in axes.lines}


def test_curves_steps_points_and_words():
    certificates = {"ours": make_certificate(), "theirs": make_certificate(method="scenario")}
    exact = (np.array([0.0, 1.0]), np.array([1.0, 0.1]))
    axes = plot_certificates(certificates, exact=exact, points=[(0.1, 0.5), (0.6, 0.4)], title="walker")

    lines = drawn(axes)
    assert set(lines) == {"ours", "theirs", "exact S(B)", "requested"}
    for label, certificate in certificates.items():
        safety = np.asarray(certificate.safety)[[1, 0, 2]]
        # The value of the upper threshold between two, and that of the lowest down to the leftmost point.
        assert lines[label].get_drawstyle() == "steps-pre"
        np.testing.assert_allclose(lines[label].get_xdata(), [0.1, 0.25, 0.5, 0.75])
        np.testing.assert_array_equal(lines[label].get_ydata(), [safety[0], *safety])
    np.testing.assert_array_equal(lines["exact S(B)"].get_ydata(), exact[1])
    np.testing.assert_array_equal(lines["requested"].get_xydata(), [(0.1, 0.5), (0.6, 0.4)])
    assert axes.get_title() == "walker: certified with confidence 0.99"
    assert axes.get_xlabel() == "threshold B, each fixed beforehand"
    assert axes.get_ylabel() == "certified safety 1−ε"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(lines)


def test_the_axis_that_was_fixed_beforehand_is_named_as_such():
    """Thresholds that were found for a safety were not fixed; the certificates are of one type."""
    found = jaxcert.certify_safety_level(RETURNS, [0.5, 0.8], support=(0, 1), delta=0.1)
    axes = plot_certificates({"A": found, "B": found})
    assert axes.get_xlabel() == "certified threshold B"
    assert axes.get_ylabel() == "safety 1−ε, each fixed beforehand"
    together = jaxcert.certify_band(RETURNS, [0.2, 0.4], support=(0, 1), delta=0.1)
    assert plot_certificates(together).get_xlabel() == "threshold B, all at once"


def test_a_curve_without_any_width_is_a_point():
    """A line of no length is drawn as nothing at all."""
    at = {place: jaxcert.certify(RETURNS, place, support=(0, 1), delta=0.1) for place in (0.2, 0.4)}
    (line,) = plot_certificates(at[0.4]).lines
    assert line.get_marker() == "o"
    axes = plot_certificates({"low": at[0.2], "high": at[0.4], "also low": at[0.2]})
    assert [line.get_marker() for line in axes.lines] == ["o", "None", "^"]
    assert np.ptp(axes.lines[1].get_xdata()) > 0


def test_names_are_drawn_as_written(tmp_path):
    """A file may be called anything; what looks like a formula is none."""
    axes = plot_certificates({r"$\frac{$": make_certificate(), "a_$b$": make_certificate()}, title="$x^{$")
    save_figure(tmp_path / "c.png", axes)
    assert axes.get_title().startswith("$x^{$")


def test_what_cannot_be_drawn():
    one = make_certificate()
    with pytest.raises(ValueError, match="certificates is empty"):
        plot_certificates({})
    with pytest.raises(ValueError, match=r"confidence 0\.98, 0\.99, expected the same"):
        plot_certificates({"a": one, "b": make_certificate(delta=0.02)})


ODD = ["$a_b$ & c", "two\nlines", "机器人", "\ud800", "", "🤖" * 40, "x" * 500, "<b>{}%\\", "\x00"]
PASSED = np.arange(20) < np.array([20, 19, 12, 3, 20])[:, None]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_odd_names_are_drawn_without_a_warning(tmp_path, suffix):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = plot_intervals({name: Interval(0.1, 0.5, letters="a") for name in ODD}, title="机器人 $x$", at=0.2)
        save_figure(tmp_path / f"odd.{suffix}", axes)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == len(ODD)
    assert all(text.isprintable() and len(text) <= 40 for text in labels)


def test_the_largest_lower_end_stands_first_and_sixty_names_are_apart():
    rows = {f"policy {i}": Interval((7 * i % 60) / 60, 1.0) for i in range(60)}
    axes = plot_intervals(rows)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == sorted(rows, key=lambda name: -rows[name].low)
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(boxes))
    assert axes.bbox.width > 0.4 * axes.figure.bbox.width


def test_numbers_that_are_not_known_leave_no_mark():
    axes = plot_intervals({"a": Interval(), "b": Interval(-np.inf, 0.3), "c": Interval(0.1, None, 0.4)})
    marks = {line.get_label(): line.get_xdata() for line in axes.lines}
    np.testing.assert_equal(marks["observed"], [np.nan, 0.3, np.nan])
    np.testing.assert_equal(marks["certified"], [0.1, np.nan, np.nan, 0.4, np.nan, np.nan])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["c", "b", "a"]
    with pytest.raises(ValueError, match="rows is empty"):
        plot_intervals({})


def test_tasks_are_certified_or_not_or_surely_below():
    found = jaxcert.certify_each_task(PASSED, 0.6, delta=0.05, complete=True, tasks=list("abcde"))
    rows = intervals_of(found, QUESTIONS["each_task"], PASSED.mean(axis=1), "")
    kinds = {name: row.kind for name, row in rows.items()}
    certified, below = "certified", "surely below"
    assert kinds == {"a": certified, "b": certified, "c": "not certified", "d": below, "e": certified}
    assert [row.observed for row in rows.values()] == PASSED.mean(axis=1).tolist()
    labels = plot_intervals(rows).get_legend_handles_labels()[1]
    assert labels == ["certified", "not certified", "surely below"]


@pytest.mark.parametrize(
    ("name", "fixed", "options", "observed", "field"),
    [
        ("suite", [[0.6, 0.95]], {}, [4, 3], "num_good"),
        ("suite_mean", [], {}, [0.74], "mean"),
        ("interval", [0.6], {"complete": True}, [0.8], "safety"),
        ("safety_level", [0.5], {}, [None], "thresholds"),
    ],
)
def test_both_numbers_are_those_of_answer_and_data(name, fixed, options, observed, field):
    found = getattr(jaxcert, f"certify_{name}")(PASSED, *fixed, delta=0.1, **options)
    rows = intervals_of(found, QUESTIONS[name], PASSED.mean(axis=1), "office").values()
    assert [row.low for row in rows] == np.atleast_1d(getattr(found, field)).tolist()
    assert [row.observed for row in rows] == [one if one is None else pytest.approx(one) for one in observed]
    assert [row.high for row in rows] == (found.safety_upper.tolist() if name == "interval" else [None] * len(rows))
