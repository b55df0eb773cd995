"""The curves of the paper's experiments: statements about them, files, and a small run from rollouts to figure."""

import csv

import numpy as np
import pytest

from benchmarks.paper import bridge_world, curves, simple_grid, zones
from benchmarks.paper.curves import THRESHOLDS, Curve


def line(*heights: float) -> np.ndarray:
    return np.stack([np.full(len(THRESHOLDS), height) for height in heights])


def test_what_a_curve_says():
    curve = Curve("experiment", "method", line(0.2, 0.4, 0.6), line(0.5)[0])
    np.testing.assert_allclose(curve.mean, 0.4)
    np.testing.assert_allclose(curve.std, 0.2)
    assert curve.gap == pytest.approx(0.1)
    assert curve.above == 1


def test_the_empirical_share_of_tasks():
    returns = np.array([[[1, 1], [1, 0], [0, 0]]])
    share = curves.empirical(returns)[0]
    assert share[THRESHOLDS == 0].item() == 1
    assert share[np.isclose(THRESHOLDS, 0.5)].item() == pytest.approx(2 / 3)
    assert share[np.isclose(THRESHOLDS, 0.51)].item() == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scenario at beta")
def test_a_small_run_of_both_policies(tmp_path, monkeypatch):
    monkeypatch.setattr(bridge_world, "SEEDS", range(2))
    panels = [bridge_world.curves("standard", side) for side in bridge_world.SIDES]
    left, right = panels
    assert [curve.method for curve in left] == [curve.method for curve in right]
    for lower, higher in zip(left, right, strict=True):
        assert lower.safety.shape == (2, len(THRESHOLDS))
        # The right policy is the better one, and every method says so.
        assert np.all(higher.mean >= lower.mean - 1e-6)
        assert np.any(higher.mean > lower.mean + 0.1)
        if lower.method != "empirical":
            assert lower.above == higher.above == 0
    curves.plot(panels, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    curves.write([*left, *right], tmp_path / "curves.csv")
    with (tmp_path / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(left) * len(THRESHOLDS)
    assert {row["experiment"] for row in rows} == {"standard world, left policy", "standard world, right policy"}


@pytest.mark.slow
def test_a_small_run_of_the_illustrative_grid(monkeypatch):
    monkeypatch.setattr(simple_grid, "SEEDS", range(2))
    panels = simple_grid.panels()
    assert [panel[0].experiment for panel in panels] == [f"n = {n}, m = {m}" for n, m in simple_grid.BUDGETS]
    gaps = {panel[0].experiment: [curve.gap for curve in panel[1:]] for panel in panels}
    assert all(curve.above == 0 for panel in panels for curve in panel[1:])
    # More tasks and more rollouts both help, whatever the method.
    assert np.all(np.less(gaps["n = 100, m = 100"], gaps["n = 30, m = 100"]))
    assert np.all(np.less(gaps["n = 100, m = 1000"], gaps["n = 100, m = 100"]))


@pytest.mark.filterwarnings("ignore:scenario at beta")
def test_zones_from_made_up_returns(monkeypatch):
    """Tasks with known performances: no curve is above them, and certificates fail no more often than delta."""

    def returns_of(seed, num_tasks, num_rollouts):
        rng = np.random.default_rng(seed)
        success = rng.beta(20, 1.2, (num_tasks, 1))
        return (rng.uniform(size=(num_tasks, num_rollouts)) < success).astype(np.float32)

    monkeypatch.setattr(zones, "returns_of", returns_of)
    monkeypatch.setattr(zones, "SEEDS", range(2))
    monkeypatch.setattr(zones, "BUDGETS", ((30, 50), (60, 100)))
    monkeypatch.setattr(zones, "EVALUATION", (5000, 500))
    zones.evaluation.cache_clear()
    small, large = zones.panels()
    assert [curve.method for curve in small][1:] == [curve.method for curve in large][1:]
    assert all(curve.above == 0 for curve in (*small[1:], *large[1:]))
    assert all(more.gap < less.gap for less, more in zip(small[1:], large[1:], strict=True))
    means = zones.evaluation()
    zones.evaluation.cache_clear()
    assert zones.success(means).startswith(f"success {means.mean():.4f}, with confidence 0.99 at least 0.9")
    lines = list(zones.failures(means, 1000))
    assert len(lines) == 6
    assert all(float(line.split("p-value ")[1]) > 1e-4 for line in lines)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scenario at beta")
def test_a_small_run_of_zones(monkeypatch):
    """The shipped policy: its certificates are below the safety of independent tasks."""
    monkeypatch.setattr(zones, "SEEDS", range(2))
    monkeypatch.setattr(zones, "BUDGETS", ((30, 50), (50, 100)))
    monkeypatch.setattr(zones, "EVALUATION", (200, 100))
    zones.evaluation.cache_clear()
    for panel in zones.panels():
        assert all(curve.above == 0 for curve in panel[1:])
        assert max(float(curve.mean[60]) for curve in panel[1:]) > 0.7
    assert zones.evaluation().mean() > 0.9
    zones.evaluation.cache_clear()
