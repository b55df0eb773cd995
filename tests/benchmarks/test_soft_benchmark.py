"""The benchmark of soft counts computes what the library certifies."""

import numpy as np
import pytest

from benchmarks import soft
from jaxcert import certify


@pytest.mark.parametrize("m", [1, 5])
def test_the_benchmark_certifies_as_the_library_does(m):
    world = soft.worlds()["walker, 500"]
    x = soft.subsets(world, 50, m)
    found = certify(x.astype(np.float32), world.threshold, support=(0, world.high), delta=soft.DELTA, method="soft")
    wanted = soft.soft(x, world.threshold, (soft.default_alpha(m), 0.5))
    assert np.median(found.epsilon) == pytest.approx(wanted[0], rel=1e-4)
    assert wanted[1] != pytest.approx(wanted[0], rel=1e-3)


def test_subsets_are_repeatable_and_of_known_performance():
    for name, world in soft.worlds().items():
        x = soft.subsets(world, 20, 3)
        assert x.shape == (soft.NUM_SUBSETS, 20, 3)
        assert np.array_equal(x, soft.subsets(world, 20, 3))
        assert x.min() >= 0
        assert x.max() <= world.high
        assert world.binary == (set(np.unique(x)) <= {0.0, 1.0}), name
