"""The device benchmark runs on any device and detects unsafe results, and its table of exact values is exact."""

import csv
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.exact import exact, lower_tail, upper_tail
from benchmarks.gpu.__main__ import main
from benchmarks.gpu.reference import BOUNDS, SUPPORTS, read, returns
from benchmarks.gpu.sides import FUNCTIONS, compare
from tests.bounds.exact_bounds import CASES, Sample


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


ROOM = exact(2.0**-95)
TABLE = read()


def is_exact(case) -> bool:
    """Proves that the exact value of a case is within 2**-95 of that in the table; bets are the best up to 2**-50."""
    name, arguments = case.function, case.arguments
    high = float(case.exact)
    value = exact(high) + exact(float(case.exact - Fraction(high)))
    if name in BOUNDS:
        m, kind, place, beta = arguments
        low, high = SUPPORTS[int(place)]
        sample = Sample.of(returns(int(m), int(kind), (low, high)), low, high)
        room = ROOM if name != "betting" else 2.0**-50
        return bool(abs(CASES[name].oracle(sample, beta) + low - value) < room * (high - low))
    if len(arguments) == 1:
        return bool(abs(getattr(exact(arguments[0]), name)() - value) <= ROOM * abs(value))
    k, n, *levels = int(arguments[0]), int(arguments[1]), *map(exact, arguments[2:])
    if name in ("binomial_cdf", "binomial_sf"):
        tail = (lower_tail if name == "binomial_cdf" else upper_tail)(k, n, levels[0])
        return bool(abs(tail / value - 1) < ROOM)
    if name == "clopper_pearson_lower":
        return is_root(n - k, n, 1 - value, levels[0], ROOM * value)
    if name == "clopper_pearson_upper":
        return is_root(k, n, value, levels[0], ROOM * value)
    if value == 1:  # whatever is larger
        return True
    beta, delta = levels
    if name == "binomial_epsilon":
        return is_root(k, n, value * (1 - beta), delta, ROOM * value)
    # The smallest solution over the numbers of bounds that are invalid.
    parts = {j: delta / (n + 1) - upper_tail(j, n - k, beta) for j in range(min(n - k, 200))}
    parts = {j: part for j, part in parts.items() if part > 0}
    smaller, larger = value * (1 - ROOM), value * (1 + ROOM)
    none_below = all(lower_tail(k + j, n, smaller) > part for j, part in parts.items())
    return none_below and any(lower_tail(k + j, n, larger) < part for j, part in parts.items())


def is_root(k, n, p, level, room) -> bool:
    """Whether P[Bin(n, p) <= k] = level at p, up to this room."""
    return bool(k >= n and p == 1) or bool(lower_tail(k, n, p - room) > level > lower_tail(k, n, p + room))


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_exact(name):
    assert [case for case in TABLE[name][::20] if not is_exact(case)] == []
    assert all(np.float32(a) == a for case in TABLE[name] for a in case.arguments)
