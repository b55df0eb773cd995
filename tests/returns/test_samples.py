"""The shipped sample returns are the ones whose provenance is stated."""

import numpy as np
import pytest

from jaxcert.returns import sample_returns


@pytest.mark.parametrize(
    ("name", "shape", "mean", "task_means"),
    [("cheetah", (200, 100), 807.4, (460, 941)), ("walker", (200, 90), 819.0, (670, 907))],
)
def test_sample_is_the_documented_one(name, shape, mean, task_means):
    returns = sample_returns(name)
    assert returns.shape == shape
    assert returns.dtype == np.float32
    assert ((returns >= 0) & (returns <= 1000)).all()
    averages = returns.mean(axis=1, dtype=float)
    assert averages.mean() == pytest.approx(mean, abs=0.05)
    assert (round(averages.min()), round(averages.max())) == task_means


def test_array_belongs_to_the_caller():
    first = sample_returns("walker")
    first[:] = 0
    assert sample_returns("walker").min() > 0


@pytest.mark.parametrize("name", ["Cheetah", "", "../data/cheetah", "cheetah_returns.npz"])
def test_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match=r"name must be one of cheetah, walker, got '.*'"):
        sample_returns(name)
