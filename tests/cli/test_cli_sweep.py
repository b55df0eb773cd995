"""`jaxcert sweep`: configuration, table, resumption, against the library."""

from pathlib import Path

import numpy as np
import pytest
from cli_harness import command, refused, said

from jaxcert.sweep import Grid, sweep

pytest.importorskip("pyarrow")
from pyarrow import csv, parquet

RETURNS = np.random.default_rng(0).uniform(0.2, 0.9, (2, 12, 10)).astype(np.float32)
CONFIG = """
[data]
returns = ["seed0.npz", "seed1.npz"]
support = [0, 1]

[grid]
thresholds = { start = 0.1, stop = 0.7, num = 7 }
bounds = ["hoeffding", "dkw"]
methods = ["binomial", "scenario"]
betas = ["default", 0.1]
deltas = [0.1]
budgets = [[12, 10], [6, 5]]

[run]
out = "sweep.parquet"
max_bytes = 12000
"""
GRID = Grid(
    np.linspace(0.1, 0.7, 7), ("hoeffding", "dkw"), ("binomial", "scenario"), (None, 0.1), (0.1,), [(12, 10), (6, 5)]
)


@pytest.fixture
def folder(tmp_path) -> Path:
    for seed, returns in enumerate(RETURNS):
        np.savez(tmp_path / f"seed{seed}.npz", returns=returns)
    (tmp_path / "sweep.toml").write_text(CONFIG)
    return tmp_path


def changed(folder: Path, old: str, new: str) -> Path:
    """The configuration with a part replaced."""
    assert old in CONFIG
    path = folder / "changed.toml"
    path.write_text(CONFIG.replace(old, new))
    return path


def check_table(path: Path) -> None:
    wanted = sweep(RETURNS, GRID, support=(0, 1), max_bytes=12_000).to_frame()
    table = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    assert table.column_names == list(wanted)
    for name, column in wanted.items():
        found = table[name].to_pylist()
        if column.dtype.kind == "f":
            np.testing.assert_array_equal(np.asarray(found), column.astype(np.float64))
        else:
            assert found == column.tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_table_is_what_the_library_gives(folder, suffix):
    path = changed(folder, "sweep.parquet", f"sweep{suffix}")
    out = said("sweep", path)
    assert "224 certificates: 2 seeds × 2 budgets × 2 bounds × 2 methods × 2 betas × 1 deltas × 7 thresholds" in out
    assert "not for the best of many" in out
    check_table(folder / f"sweep{suffix}")


def test_a_dry_run_computes_and_writes_nothing(folder):
    out = said("sweep", folder / "sweep.toml", "--dry-run")
    assert "224 certificates" in out
    assert not (folder / "sweep.parquet").exists()


def test_a_table_is_replaced_only_when_asked(folder):
    (folder / "sweep.parquet").write_text("another's")
    assert "exists; expected a new file" in refused("sweep", folder / "sweep.toml")
    assert (folder / "sweep.parquet").read_text() == "another's"
    assert command("sweep", folder / "sweep.toml", "--force").status == 0
    check_table(folder / "sweep.parquet")


def test_missing_rollouts_are_told_of_and_refused_if_strict(folder):
    where = np.ones(RETURNS[1].shape, bool)
    where[3, 1:] = False
    np.savez(folder / "seed1.npz", returns=RETURNS[1], where=where)
    words = f"1 of {len(where)} tasks have fewer than {where.shape[1]} rollouts, {(~where).sum()} of {where.size} are"
    assert (
        f"warning: {folder / 'seed1.npz'}: {words} missing" in command("sweep", folder / "sweep.toml", "--dry-run").err
    )
    assert words in refused("sweep", folder / "sweep.toml", "--dry-run", "--strict")


def test_files_of_different_lengths_are_masked(folder):
    np.savez(folder / "seed1.npz", returns=RETURNS[1, :, :8])
    path = changed(folder, "budgets = [[12, 10], [6, 5]]", "")
    assert command("sweep", path).status == 0
    where = np.ones(RETURNS.shape, bool)
    where[1, :, 8:] = False
    grid = Grid(GRID.thresholds, GRID.bounds, GRID.methods, GRID.betas, GRID.deltas)
    wanted = sweep(RETURNS, grid, support=(0, 1), where=where)
    found = parquet.read_table(folder / "sweep.parquet")["num_violations"].to_numpy()
    np.testing.assert_array_equal(found, wanted.num_violations.ravel())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[data]", "[dat]", "dat is unknown; expected data, grid, run"),
        ('returns = ["seed0.npz", "seed1.npz"]', "", "[data] returns is missing"),
        ('returns = ["seed0.npz", "seed1.npz"]', "returns = []", "returns of [data] is []; expected a list of texts"),
        ('"seed1.npz"', '"seed7.npz"', "seed7.npz: no such file"),
        ("support = [0, 1]", "support = [0]", "support of [data] is [0]; expected a list of 2 numbers"),
        ("support = [0, 1]", "support = [0, 0.5]", "outside the support"),
        ('"hoeffding"', '"bernstein"', "bounds of the grid holds 'bernstein'"),
        ("[[12, 10], [6, 5]]", "[[13, 10]]", "the returns have 12 tasks with 10 rollouts"),
        ("num = 7", "num = 0", "num of [grid] thresholds is 0"),
        ("deltas = [0.1]", 'deltas = ["0.1"]', "deltas of the grid holds '0.1'; expected numbers"),
        ('"seed1.npz"', '"./seed0.npz"', "returns of [data] hold './seed0.npz' twice"),
        ("start = 0.1", 'start = "0"', "start of [grid] thresholds is '0'; expected a number"),
        ("stop = 0.7", "stop = inf", "start and stop of [grid] thresholds[1] is inf; expected a finite number"),
        ("num = 7", "num = 10_000_000_000", "num of [grid] thresholds is 10000000000; expected at least 1 and at most"),
        (", num = 7", "", "[grid] thresholds num is missing"),
        ("[6, 5]", "[inf, 5]", "budgets of the grid holds [inf, 5]; expected pairs"),
        ("max_bytes = 12000", "max_bytes = 0", "max_bytes is 0; expected a whole number of at least 1"),
        ("max_bytes = 12000", 'checkpoint = "c"', "[run] checkpoint is unknown; expected out, max_bytes"),
        ('out = "sweep.parquet"', 'out = "sweep.xlsx"', "suffix '.xlsx', expected one of .parquet, .csv"),
        ('out = "sweep.parquet"', 'out = "none/sweep.csv"', "does not exist"),
        ("[grid]", "[grid", "is not TOML"),
    ],
)
def test_bad_configurations(folder, old, new, words):
    assert words in refused("sweep", changed(folder, old, new))
    assert not (folder / "sweep.parquet").exists()
