"""The count of compilations detects a recompilation, and the programs on disk stay few."""

import os

import jax
import numpy as np
from compilations import compilations, trim_programs


def double(x):
    return 2 * x


def test_a_new_shape_compiles_and_another_value_does_not():
    call = jax.jit(double)
    here = [np.full(size, value, np.float32) for size, value in ((3, 0), (3, 1), (4, 1))]
    assert [compilations(lambda x=x: call(x)) for x in here] == [1, 0, 1]


def test_what_was_used_longest_ago_goes_first(tmp_path):
    for age in range(6):
        file = tmp_path / f"{age}-cache"
        file.write_bytes(b"0" * 10)
        os.utime(file, (1e9 - age, 1e9 - age))
    trim_programs(tmp_path, 60)
    assert len(list(tmp_path.iterdir())) == 6
    trim_programs(tmp_path, 59)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0-cache", "1-cache"]
