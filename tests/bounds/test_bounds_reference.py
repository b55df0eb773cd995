"""Bounds on the sample returns against values from another implementation."""

import csv
from pathlib import Path

import numpy as np
import pytest

from jaxcert import bounds, sample_returns

TABLE = Path(__file__).parents[1] / "reference" / "cheetah_bounds.csv"
COLUMNS = {
    "hoeffding": bounds.hoeffding,
    "empirical_bernstein": bounds.empirical_bernstein,
    "dkw_integral_one_sided": bounds.dkw,
}


def column(name: str, beta: float) -> np.ndarray:
    with TABLE.open() as file:
        return np.array([float(row[f"{name}@beta={beta:g}"]) for row in csv.DictReader(file)])


def check(lower: np.ndarray, wanted: np.ndarray, precision: str) -> None:
    assert lower.dtype == precision
    np.testing.assert_allclose(lower.astype(float), wanted, rtol=1e-9 if precision == "float64" else 1e-5)
    # The reference was itself rounded in 64 bits.
    assert (lower <= wanted * (1 + 1e-13)).all()


@pytest.mark.parametrize("beta", [1e-4, 0.01])
@pytest.mark.parametrize("name", COLUMNS)
def test_returns(name, beta, precision):
    x = sample_returns("cheetah").astype(precision)
    lower = COLUMNS[name](x, beta, support=(0, 1000))
    check(np.asarray(lower), column(name, beta), precision)


@pytest.mark.parametrize("beta", [1e-4, 0.01])
def test_success_rates(beta, precision):
    x = (sample_returns("cheetah") >= 800).astype(precision)
    check(np.asarray(bounds.clopper_pearson(x, beta)), column("clopper_pearson_success_800", beta), precision)
