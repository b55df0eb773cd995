"""`jaxcert demo`: tables against the truth, and plots."""

import re

import numpy as np
import pytest
from cli_harness import as_process, command, refused, said

import jaxcert
from jaxcert.cli import _demo_command
from jaxcert.cli._demo_command import NAMES, load_case

PNG = b"\x89PNG\r\n\x1a\n"


def figures(line: str) -> list[float]:
    return [float(cell) for cell in re.split(r"\s{2,}", line.strip())[1:]]


@pytest.fixture
def grid_in_the_default_way_only(monkeypatch):
    """One case and one way instead of five and two: the rest is the same code and takes long to compile."""
    case = load_case("simple_grid")
    case = case._replace(ways={"default": case.ways["default"]})
    monkeypatch.setattr(_demo_command, "NAMES", ("simple_grid",))
    monkeypatch.setattr(_demo_command, "load_case", lambda _: case)
    return case


def test_the_grid_beside_the_truth(tmp_path, grid_in_the_default_way_only):
    out = said("demo", "--out", tmp_path / "plots")
    table = [figures(line) for line in out.splitlines() if re.match(r"\s*(0\.\d+|on 90% of tasks)\s{2,}", line)]
    assert len(table) == len(grid_in_the_default_way_only.thresholds) + 1
    assert all(certified <= exact for exact, certified in table)
    # At the largest threshold too few tasks pass to certify anything; the last row is the performance on 90 %.
    assert all(certified > 0 for _, certified in [*table[:-2], table[-1]])
    # S(0.7) = 0.8 up to the tails: only the tasks of the first component pass.
    assert table[2][0] == pytest.approx(0.8, abs=1e-3)
    assert [file.name for file in (tmp_path / "plots").iterdir()] == ["simple_grid.png"]
    assert (tmp_path / "plots" / "simple_grid.png").read_bytes().startswith(PNG)
    assert f"plot: {tmp_path / 'plots' / 'simple_grid.png'}" in out

    plot = tmp_path / "plots" / "simple_grid.png"
    plot.write_text("another's")
    assert f"{plot}: exists; expected a new file, or --force to replace it" in refused("demo", "--out", plot.parent)
    assert plot.read_text() == "another's"
    quiet = command("demo", "--out", plot.parent, "--force", "--quiet")
    assert quiet.out == out[: out.index("plot: ")]
    assert plot.read_bytes().startswith(PNG)


def test_the_cases_are_those_of_the_paper():
    grid = load_case("simple_grid")
    assert grid.returns.shape == (250, 1000)
    np.testing.assert_array_equal(np.unique(np.asarray(grid.returns)), [0, 1])
    np.testing.assert_array_equal(grid.returns, load_case("simple_grid").returns)
    walker = load_case("walker")
    np.testing.assert_array_equal(walker.returns, jaxcert.sample_returns("walker"))
    assert [way["method"] for way in walker.ways.values()] == ["scenario", "binomial"]
    assert [way["beta"] for way in walker.ways.values()] == [1e-4, None]


def test_bridge_world_beside_its_truth():
    left, right = (load_case(f"bridge_world_{side}") for side in ("left", "right"))
    assert left.returns.shape == right.returns.shape == (200, 1000)
    for case in (left, right):
        certificate = jaxcert.certify(case.returns, case.thresholds, **case.ways["default"])
        exact = np.interp(case.thresholds, *case.exact)
        assert np.all(np.asarray(certificate.safety) <= exact)
        assert np.any(np.asarray(certificate.safety) > 0.5)


def test_where_no_plots_can_go(tmp_path):
    (tmp_path / "file").write_text("")
    assert "is not a folder" in refused("demo", "--out", tmp_path / "file")
    assert "does not exist" in refused("demo", "--out", tmp_path / "none" / "plots")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path):
    done = as_process("demo", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    certified = [figures(line) for line in done.out.splitlines() if line.startswith("on 90% of tasks")]
    assert [[round(value) for value in row] for row in certified[-2:]] == [[196, 523], [405, 671]]
    assert all(0 < value <= exact for exact, *row in certified[:3] for value in row)
    assert sorted(file.stem for file in tmp_path.iterdir()) == sorted(NAMES)
    assert all(file.read_bytes().startswith(PNG) for file in tmp_path.iterdir())
