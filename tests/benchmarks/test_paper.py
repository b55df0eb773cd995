"""The paper's experiments: the command, statements about curves, files, and small runs from rollouts to figure."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import (
    bridge_world,
    curves,
    domains,
    robots,
    zones,
)
from benchmarks.paper.__main__ import EXPERIMENTS, main
from benchmarks.paper.curves import THRESHOLDS
from benchmarks.paper.experiment import Experiment, Findings, write


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_experiments_are_listed_and_chosen(capsys, tmp_path, monkeypatch):
    main(["--list"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)
    with pytest.raises(SystemExit):
        main(["--only", "figure_9"])
    assert "invalid choice: 'figure_9'" in capsys.readouterr().err
    sizes = []

    def run(full: bool) -> Findings:
        sizes.append(full)
        return Findings(iter(["a line"]), ("x", "name"), [(1 / 3, "a, b")])

    monkeypatch.setitem(EXPERIMENTS, "world", Experiment("world", "shows this", run))
    main(["--only", "world", "--full", "--out", str(tmp_path / "out")])
    shown = capsys.readouterr().out
    assert "== world: shows this\na line\n" in shown
    assert sizes == [True]
    assert (tmp_path / "out" / "world.txt").read_text() == "a line\n"
    assert read(tmp_path / "out" / "world.csv") == [{"x": "0.333333", "name": "a, b"}]


def test_every_experiment_is_in_the_docs():
    """And every one that the docs name is there."""
    docs = Path(__file__).parents[2] / "docs"
    named = re.findall(r"benchmarks\.paper((?: --only \w+)+)", "".join(page.read_text() for page in docs.glob("*.md")))
    assert set(re.findall(r"--only (\w+)", "".join(named))) == set(EXPERIMENTS)


def test_the_empirical_share_of_tasks():
    returns = np.array([[[1, 1], [1, 0], [0, 0]]])
    share = curves.empirical(returns)[0]
    assert share[THRESHOLDS == 0].item() == 1
    assert share[np.isclose(THRESHOLDS, 0.5)].item() == pytest.approx(2 / 3)
    assert share[np.isclose(THRESHOLDS, 0.51)].item() == pytest.approx(1 / 3)


@pytest.mark.slow
def test_a_small_run_of_both_policies(tmp_path, monkeypatch):
    monkeypatch.setattr(bridge_world, "NUM_ROLLOUTS", 300)
    panels = [bridge_world.curves("standard", side, range(2)) for side in bridge_world.SIDES]
    left, right = panels
    assert [curve.method for curve in left] == [curve.method for curve in right]
    for lower, higher in zip(left, right, strict=True):
        assert lower.safety.shape == (2, len(THRESHOLDS))
        # The right policy is the better one, and every method says so.
        assert np.all(higher.mean >= lower.mean - 1e-6)
        assert np.any(higher.mean > lower.mean + 0.1)
        if lower.method != "empirical":
            assert lower.above == higher.above == 0
    files = write(curves.findings(panels, ["more"]), tmp_path, "bridge")
    assert [file.name for file in files] == ["bridge.txt", "bridge.csv", "bridge.png"]
    assert files[0].read_text().splitlines()[-1] == "more"
    assert files[2].read_bytes().startswith(b"\x89PNG")
    rows = read(files[1])
    assert len(rows) == 2 * len(left) * len(THRESHOLDS)
    assert {row["experiment"] for row in rows} == {"standard world, left policy", "standard world, right policy"}


def test_robots_from_the_samples(monkeypatch):
    """Better methods are tighter in each panel, and none is above the sample's own share of tasks."""
    monkeypatch.setattr(domains, "SEEDS", range(2))
    monkeypatch.setattr(robots, "ROBOTS", ("cheetah",))
    monkeypatch.setattr(robots, "SAMPLE_BUDGETS", ((50, 100), (200, 100)))
    found = robots.run(False)
    gaps = [float(line.split("gap ")[1].split()[0]) for line in found.lines[:8] if "empirical   " not in line]
    assert len(gaps) == 6
    assert gaps == sorted(gaps[:3], reverse=True) + sorted(gaps[3:], reverse=True)
    assert all(line.endswith("above the exact safety: 0") for line in found.lines[:8] if "empirical   " not in line)
    assert len(list(found.rows)) == 8 * len(robots.THRESHOLDS)


def test_zones_from_made_up_returns(monkeypatch):
    """Tasks with known performances: no curve is above them."""

    def returns_of(seed, num_tasks, num_rollouts):
        rng = np.random.default_rng(seed)
        success = rng.beta(20, 1.2, (num_tasks, 1))
        return (rng.uniform(size=(num_tasks, num_rollouts)) < success).astype(np.float32)

    monkeypatch.setattr(zones, "returns_of", returns_of)
    size = zones.Size(((30, 50), (60, 100)), range(2), (5000, 500))
    means = zones.returns_of(zones.EVALUATION_SEED, *size.evaluation).mean(axis=1)
    small, large = zones.panels(size, means)
    assert [curve.method for curve in small][1:] == [curve.method for curve in large][1:]
    assert all(curve.above == 0 for curve in (*small[1:], *large[1:]))
    assert all(more.gap < less.gap for less, more in zip(small[1:], large[1:], strict=True))
    assert zones.success(means).startswith(f"success {means.mean():.4f}, with confidence 0.99 at least 0.9")
