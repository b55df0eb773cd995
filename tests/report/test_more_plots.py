"""Plots of sweeps, batches, bounds and performances, and their sizes; a band says what it is."""

import dataclasses

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from handmade import Recorded, make_certificate
from matplotlib.figure import Figure

import jaxcert
from jaxcert.certificates._certificate import DIFFERENCE
from jaxcert.report import plot_bounds, plot_certificates, plot_levels, plot_training
from jaxcert.report._reasons import Sample
from jaxcert.report.html import _report_parts
from jaxcert.sweep import Grid, sweep
from jaxcert.training import Checkpoint


@pytest.fixture(scope="module")
def swept():
    returns = np.random.default_rng(0).uniform(0.2, 1, (3, 40, 20)).astype(np.float32)
    grid = Grid((0.6, 0.2, 0.4), bounds=("betting", "hoeffding"), betas=(0.01, 0.1), deltas=(0.01, 0.05))
    return sweep(returns, grid, support=(0, 1))


def test_a_new_figure_is_one_column_wide_and_given_axes_are_used():
    certificate = make_certificate()
    assert tuple(plot_certificates(certificate).figure.get_size_inches()) == (3.5, 2.5)
    given = Figure(figsize=(7, 2)).subplots(1, 2)
    before = plt.get_fignums()
    assert plot_certificates(certificate, ax=given[1]) is given[1]
    assert not given[0].lines
    assert plt.get_fignums() == before
    assert tuple(given[1].figure.get_size_inches()) == (7, 2)


def test_a_band_says_that_its_points_hold_together():
    returns = np.full((40, 20), 0.9, np.float32)
    band = jaxcert.certify_band(returns, [0.2, 0.5], support=(0, 1), delta=0.05)
    assert plot_certificates(band).get_xlabel() == "threshold B, all at once"


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


def test_a_sweep_has_a_curve_and_a_band_for_every_setting(swept):
    axes = plot_certificates(swept, title="a sweep")
    assert axes.get_title() == "a sweep"
    assert axes.get_legend_handles_labels()[1][-1] == "from the lowest to the highest seed; no confidence band"
    assert [line.get_label() for line in axes.lines][:3] == [
        "betting, β = 0.01, δ = 0.01",
        "betting, β = 0.01, δ = 0.05",
        "betting, β = 0.1, δ = 0.01",
    ]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0.2, 0.2, 0.4, 0.6])
    safety = swept.safety[:, 0, 0, 0, 0, 0][:, [1, 2, 0]]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.median(safety, axis=0)[[0, 0, 1, 2]])
    corners = axes.collections[0].get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(safety.max())
    assert len(axes.collections) == len(axes.lines) == 8
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().y1 < axes.bbox.y0


def test_levels_show_the_mean_over_seeds_rounded_down(swept):
    one = sweep(np.full((40, 20), 0.7, np.float32), Grid(0.4, betas=(None, 0.1), deltas=(0.01, 0.05)), support=(0, 1))
    axes = plot_levels(one, threshold=0.4)
    shown = [float(text.get_text()) for text in axes.texts]
    exact = one.safety[0, 0, 0, 0, :, :, 0].T.ravel()
    assert np.all(shown <= exact)
    np.testing.assert_allclose(shown, exact, atol=1e-3)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["default", "0.1"]
    title = plot_levels(one, threshold=0.4, title="a long title " * 10).title.get_window_extent()
    assert title.width < axes.figure.bbox.width
    with pytest.raises(ValueError, match="several budgets, bounds or methods"):
        plot_levels(swept, threshold=0.4)
    with pytest.raises(ValueError, match=r"threshold is 0\.3, expected one of the grid's"):
        plot_levels(one, threshold=0.3)


def test_bounds_are_in_the_order_of_performance():
    performances, bound = np.array([0.5, 0.1, 0.9]), np.array([0.4, -np.inf, 0.8])
    black, line = plot_bounds({"betting": bound}, performances=performances).lines
    np.testing.assert_array_equal(black.get_ydata(), [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, 0.4, 0.8])
    (line,) = plot_bounds({"betting": np.array([0.4, 0.1])}).lines
    np.testing.assert_array_equal(line.get_ydata(), [0.1, 0.4])


def read_off(line, level: float) -> float:
    """The value of a step curve there: of the first of its points that is not below."""
    assert line.get_drawstyle() == "steps-pre"
    return line.get_ydata()[np.searchsorted(line.get_xdata(), level)]


def test_the_share_of_tasks_is_drawn_as_the_steps_that_it_has(monkeypatch):
    monkeypatch.setattr(_report_parts, "_svg", lambda axes: axes)
    means = np.array([0.7, 0.2, 0.5, 0.5])
    certificate = make_certificate()
    sample = Sample(means, (0.0, 1.0))
    *_, on_page = _report_parts.curve_svg({"one": certificate, "two": certificate}, None, sample).lines
    *_, alone = plot_certificates(certificate, sampled=means).lines
    assert alone.get_label() == "sampled tasks"
    np.testing.assert_allclose(alone.get_xydata(), [[0.2, 1], [0.5, 0.75], [0.5, 0.5], [0.7, 0.25], [0.7, 0]])
    for level in (0.1, 0.2, 0.21, 0.5, 0.51, 0.69, 0.7):
        assert read_off(on_page, level) == read_off(alone, level) == (means >= level).mean()


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda swept: plot_certificates(swept, quantiles=(0.9, 0.1)), "two shares of the seeds in increasing order"),
        (lambda _: plot_bounds({}), "expected one"),
        (lambda _: plot_bounds({"a": np.zeros(3), "b": np.zeros(2)}), r"shapes \[\(3,\), \(2,\)\]"),
        (lambda _: plot_training([Recorded(1, None)]), "certificates at thresholds"),
    ],
)
def test_what_cannot_be_drawn(swept, draw, words):
    with pytest.raises(ValueError, match=words):
        draw(swept)


SEEDS, CHECKPOINTS = 5, 8
THRESHOLDS = np.array([0.5, 0.25, 0.75], np.float32)  # in no order
SAFETY = -np.sort(-np.random.default_rng(0).uniform(size=(SEEDS, CHECKPOINTS, 3)).astype(np.float32))[..., [1, 0, 2]]


def batch(safety=SAFETY, *, traced: bool = False):
    """A batch as leading axes of returns give it, or as `vmap` does, where thresholds and settings have them, too."""
    lead = safety.shape[:-1]
    one = make_certificate()
    if traced:
        many = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*lead, *leaf.shape)), one)
        return dataclasses.replace(many, safety=jnp.asarray(safety))
    wide = {"lower_bounds": np.broadcast_to(one.lower_bounds, (*lead, 30)), "safety": safety, "epsilon": 1 - safety}
    codes = {name: np.broadcast_to(getattr(one, name), safety.shape) for name in ("num_violations", "num_valid")}
    return dataclasses.replace(one, **wide, **codes, status=np.broadcast_to(one.status, safety.shape))


def checkpoint(step: int, safety=SAFETY[0, 0]) -> Checkpoint:
    """One of a log of training."""
    held = dataclasses.replace(make_certificate(), safety=safety, epsilon=1 - safety)
    return Checkpoint(1, step, 0.01, held, None, 0.5, 1.0, None)


@pytest.mark.parametrize("traced", [False, True])
def test_a_curve_is_the_median_in_a_band(traced):
    many = batch(traced=traced)[:, 7]
    axes = plot_certificates({"ours": many}, band="seed", title="walker")
    (line,), (shaded,) = axes.lines, axes.collections
    ordered = SAFETY[:, 7][:, [1, 0, 2]]
    np.testing.assert_array_equal(line.get_xdata(), [0.25, 0.25, 0.5, 0.75])
    np.testing.assert_array_equal(line.get_ydata(), np.median(ordered, axis=0)[[0, 0, 1, 2]])
    corners = shaded.get_paths()[0].vertices
    assert {*np.unique(corners[:, 1])} == {*ordered.min(axis=0), *ordered.max(axis=0)}
    # Steps, as those of a single certificate: between two thresholds the value at the upper one.
    at = corners[np.isclose(corners[:, 0], 0.5), 1]
    assert {*at} >= {*ordered[:, 1:].min(axis=0), *ordered[:, 1:].max(axis=0)}
    words = ["ours, median of 5 seeds", "from the lowest to the highest seed; no confidence band"]
    assert axes.get_legend_handles_labels()[1] == words
    axes.figure.draw_without_rendering()
    assert axes.get_xlim()[0] < 0.25  # the entry of the legend has no place in the axes
    assert axes.get_xlim()[0] > 0.2
    assert axes.get_title().replace("\n", " ") == "walker: each seed certified with confidence 0.99"


def test_quantiles_in_place_of_the_range():
    many = batch()[:, 7]
    axes = plot_certificates({"ours": many, "again": many[::-1]}, band="run", quantiles=(0.1, 0.9))
    words = ["ours, median of 5 runs", "again, median of 5 runs", "from 10 % to 90 % of the runs; no confidence band"]
    assert axes.get_legend_handles_labels()[1] == words
    low = np.quantile(SAFETY[:, 7], 0.1, axis=0).min()
    assert axes.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(low)


def test_training_of_several_seeds():
    axes = plot_training(batch(), steps=range(100, 900, 100), band="seed")
    assert [line.get_label() for line in axes.lines] == [
        f"at least {threshold}, median of 5 seeds" for threshold in THRESHOLDS.tolist()
    ]
    for place, line in enumerate(axes.lines):
        assert list(line.get_xdata()) == list(range(100, 900, 100))
        np.testing.assert_array_equal(line.get_ydata(), np.median(SAFETY[..., place], axis=0))
        corners = axes.collections[place].get_paths()[0].vertices[:, 1]
        assert corners.max() == SAFETY[..., place].max()
    assert axes.get_xlabel() == "step"
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().y1 < axes.bbox.y0


def test_training_of_one_seed_is_drawn_as_it_is():
    axes = plot_training(batch()[2])
    assert [line.get_label() for line in axes.lines] == [f"at least {each}" for each in THRESHOLDS.tolist()]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), SAFETY[2, :, 1])
    assert not axes.collections
    assert axes.get_xlabel() == "checkpoint"
    assert list(axes.lines[0].get_xdata()) == list(range(8))  # as they are indexed


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda many: plot_certificates(many), r"a batch of 5 × 8; expected one certificate: certificate\[0, 0\], or"),
        (lambda many: plot_certificates(many), r"band='seed' with certificate\[:, 0\]"),
        (lambda many: plot_certificates(many, band="seed"), "5 × 8; expected a batch over one axis, of seeds"),
        (lambda many: plot_certificates(many[0, 0], band="seed"), "band is 'seed'; expected a batch"),
        (lambda many: plot_certificates(many[:0, 0], band="seed"), "a batch of 0; expected at least one"),
        (lambda many: plot_certificates(many[0], band="seed", quantiles=(0.9, 0.1)), "two shares of the seeds"),
        (lambda many: plot_training(many), "5 × 8; expected a batch over checkpoints: .*, or band='seed' for"),
        (lambda many: plot_training(many[0], band="seed"), "a batch of 8; expected a batch over seeds, checkpoints"),
        (lambda many: plot_training(many[0, 0]), "a single one; expected a batch over checkpoints"),
        (lambda many: plot_training(many[0], steps=[1, 2]), r"steps has shape \(2,\); expected one of each of the 8"),
        (lambda many: plot_training([checkpoint(100)], steps=[1]), "have steps of their own; expected no steps"),
        (lambda many: plot_training([]), "expected checkpoints with certificates at thresholds, at least one"),
        (lambda many: plot_training([checkpoint(100)], band="seed"), "one run of training; expected a batch of"),
    ],
)
def test_batches_that_cannot_be_drawn(draw, words):
    with pytest.raises(ValueError, match=words):
        draw(batch())


def test_no_spread_of_different_thresholds_or_of_means():
    curves = dataclasses.replace(batch(), thresholds=SAFETY)
    with pytest.raises(ValueError, match="different thresholds; expected the same for all"):
        plot_certificates(curves[:, 7], band="seed")
    with pytest.raises(ValueError, match="different thresholds; expected the same for all"):
        plot_training(curves, band="seed")
    deltas = dataclasses.replace(batch(traced=True)[:, 7], delta=jnp.linspace(0.01, 0.05, SEEDS))
    with pytest.raises(ValueError, match=r"confidence 0\.9499999, .*expected the same"):
        plot_certificates(deltas, band="seed")
    mean = jaxcert.certify_mean(np.zeros((20, 4), np.float32), support=(0, 1), delta=0.1)
    with pytest.raises(ValueError, match="a MeanCertificate that answers 'mean'; expected certificates of a share"):
        plot_training(mean)
