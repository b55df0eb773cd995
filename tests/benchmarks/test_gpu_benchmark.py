"""The device benchmark runs on any device and detects unsafe results, and its table of exact values is exact."""

import csv
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.exact import exact, lower_tail
from benchmarks.gpu.__main__ import main
from benchmarks.gpu.reference import read
from benchmarks.gpu.sides import FUNCTIONS, compare


@pytest.mark.slow
def test_quick_run_writes_one_table(tmp_path):
    out = tmp_path / "device.csv"
    assert main(["--quick", "--only", "sides", "--out", str(out)]) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["part"] for row in rows} == {"sides", "bits"}
    assert {row["size"] for row in rows if row["name"] == "betting"} == {"float32", "float64"}
    assert all(float(row["value"]) == 0 for row in rows if row["unit"] == "unsafe")
    # On the CPU, the bits are its own.
    assert all(float(row["value"]) == 1 for row in rows if row["part"] == "bits")
    assert all("cpu" in row["machine"] and "jax" in row["machine"] for row in rows)


def test_time_that_is_up_is_named(tmp_path):
    out = tmp_path / "device.csv"
    main(["--quick", "--minutes", "0", "--only", "steps", "--out", str(out)])
    with out.open() as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names[-1] == "left out, or cut short"


def test_a_result_on_the_wrong_side_is_found():
    upside_down = FUNCTIONS["binomial_cdf"]["binomial_cdf, down"]._replace(side=1)
    too_narrow = FUNCTIONS["exp"]["exp"]._replace(allowed=0.1)
    for name, function in (("binomial_cdf", upside_down), ("exp", too_narrow)):
        rows = compare(name, function, read()[name][:12], "float32")
        assert next(row.value for row in rows if row.unit == "unsafe") > 0.5


def test_the_table_is_exact():
    for case in read()["binomial_cdf"][::20]:
        k, n, p = case.arguments
        tail = lower_tail(int(k), int(n), exact(p))
        high = float(case.exact)
        low = float(case.exact - Fraction(high))
        assert abs(float((exact(high) + exact(low)) / tail - 1)) < 2.0**-95
    assert all(np.float32(a) == a for cases in read().values() for case in cases for a in case.arguments)
