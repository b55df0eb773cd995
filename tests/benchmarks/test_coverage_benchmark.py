"""The benchmark of coverage: what it finds, what it would find, and that its results are those in the docs."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest

from benchmarks.coverage import __main__ as program
from benchmarks.coverage import laws, one_task, worlds
from benchmarks.coverage.cell import Cell, read, simulate, summary, wrong
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import METHODS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "benchmarks" / "results" / "coverage.csv"


def test_a_small_run_finds_the_averages_and_nothing_else(tmp_path, capsys):
    out = tmp_path / "coverage.csv"
    words = ["certify, binomial: ", "averages taken", "binomial_epsilon, beta = 0.05"]
    only = [argument for word in words for argument in ("--only", word)]
    assert program.main([*only, "--repetitions", "300", "--out", str(out)]) == 0
    results = read(out)
    assert len(results) == 2 * len(worlds.WORLDS) + 5
    assert {each.repetitions for each in results} == {300}
    # Averages of good tasks on the threshold are below it half of the time, which hides those of bad ones.
    spared = ["easy", "on the threshold"]
    assert [each.case for each in results if not each.sound and not each.fails] == spared
    assert capsys.readouterr().out.splitlines() == summary(results)


def test_every_chunk_counts_and_is_drawn_anew():
    drawn = []

    def failed(key, size):
        drawn.append((size, int(jax.random.bits(key))))
        return np.arange(size) < 2

    cell = Cell("a bound", "easy", 0.05, failed, repetitions=50, chunk=20)
    assert simulate(cell).failures == 6
    assert [size for size, _ in drawn] == [20, 20, 10]
    assert len({bits for _, bits in drawn}) == 3
    again = drawn.copy()
    simulate(cell)
    assert drawn[3:] == again


def test_a_broken_bound_is_caught():
    bound = BOUNDS["hoeffding"]
    broken = dataclasses.replace(bound, name="broken", lower=lambda data, beta: bound.lower(data, beta) + 0.1)
    results = [simulate(cell, 400) for cell in one_task.cells({"broken": broken})]
    assert any("bound broken: fair coin, beta = 0.05 fails" in fault for fault in wrong(results))


def test_what_is_wrong_ends_the_run_with_a_status(monkeypatch, capsys):
    cells = [
        Cell("a bound", "hard", 0.05, lambda key, size: np.arange(size) % 2 == 0),
        Cell("a guess", "easy", 0.05, lambda key, size: np.zeros(size, bool), sound=False),
    ]
    monkeypatch.setattr(program, "cells", lambda: cells)
    assert program.main(["--repetitions", "100"]) == 1
    shown = capsys.readouterr().out
    assert "FAILED: a bound: hard fails at rate 0.5\nFAILED: a guess was expected to fail\n" in shown
    with pytest.raises(SystemExit):
        program.main(["--only", "no such word"])
    assert "no cell's name contains any of ['no such word']" in capsys.readouterr().err


def test_truths_are_exact():
    """Tables hold floats, their means are sums without rounding, and events have the stated probability."""
    for law in one_task.laws(0.05).values():
        for values in (law.values, 1 - law.values, one_task.LOW + (one_task.HIGH - one_task.LOW) * law.values):
            assert np.array_equal(values, values.astype(np.float32))
    for world in worlds.WORLDS.values():
        bad, good = world.performances
        assert bad < np.float32(world.threshold) == world.threshold <= good
        assert world.safety(np.array([bad, world.threshold, good + 1])).tolist() == [1, 1 - world.risk, 0]
        assert world.worst(1.0) == pytest.approx(world.mean)
        assert world.worst(world.risk / 2) == bad
    bits = np.arange(laws.FINE)
    assert laws.happens(jax.random.key(0), bits.shape, np.float32(1.0)).all()
    assert not laws.happens(jax.random.key(0), bits.shape, np.float32(0.0)).any()


# --- the committed results --------------------------------------------------------------------------------------------


def test_the_committed_results_are_of_all_cells_and_nothing_is_wrong():
    results = read(COMMITTED)
    assert wrong(results) == []
    assert [(each.kind, each.case, each.repetitions) for each in results] == [
        (cell.kind, cell.case, cell.repetitions) for cell in program.cells()
    ]
    kinds = {each.kind for each in results if each.sound}
    assert {f"bound {name}" for name in BOUNDS} | {f"certify, {name}" for name in METHODS} <= kinds
    assert {"certify_lower_bounds_band, equal_local_levels"} <= kinds


def test_the_docs_show_the_committed_results():
    page = (ROOT / "docs" / "coverage.md").read_text()
    assert "\n".join(summary(read(COMMITTED))) in page
