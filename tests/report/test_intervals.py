"""Plots of lower ends and intervals by name, and the numbers in them."""

import itertools
import warnings

import numpy as np
import pytest

import jaxcert
from jaxcert.questions import QUESTIONS
from jaxcert.report import Interval, plot_intervals, save_figure
from jaxcert.report._in_words import intervals_of

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
