"""Plots of batches: the median over seeds, and a band that says what it is."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from handmade import make_certificate

import jaxcert
from jaxcert.report import plot_certificates, plot_training
from jaxcert.training import Checkpoint

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
    return Checkpoint(1, step, 0.01, held, None, 0.5, 1.0, None, 10)


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
        (lambda many: plot_training([checkpoint(100)], band="seed"), "one run of training; expected a list of those"),
        (lambda many: plot_training([[checkpoint(1)], [checkpoint(2)]], band="seed"), "other steps or thresholds"),
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
