"""What tests are made with: the list of long ones, seconds of each, counts of compilations."""

import jax
import numpy as np
import pytest
from compilations import compilations
from long_tests import entries, long_ones
from processor_time import Recorder, read

NAMES = ["a.py::test_b[2]", "b.py::test_c", "b.py::test_d[1]", "b.py::test_d[2]", "b.py::test_e[1]", "b.py::test_e[2]"]
NAMES += ["b.py::test_e[3]", "b.py::test_f", "b.py::test_g[1]", "b.py::test_g[2]", "b.py::test_g[3]"]


def test_a_case_is_long_with_its_test_and_its_file():
    listed = {"a.py", "b.py::test_c", "b.py::test_d[1]", "b.py::test_e[...]", "b.py::test_f", "gone.py::test_h"}
    long = long_ones(NAMES, listed)
    assert [name for name in NAMES if name not in long] == [
        "b.py::test_d[2]",
        "b.py::test_e[1]",
        *(f"b.py::test_g[{case}]" for case in (1, 2, 3)),
    ]


def test_they_are_marked(request):
    items = {item.nodeid: item for item in request.session.items}
    assert [name for name in items if name in entries() and not items[name].get_closest_marker("slow")] == []


def test_seconds_of_each_test_are_written(tmp_path, request):
    written = Recorder(str(tmp_path)).pytest_runtest_protocol(request.node)
    next(written)
    with pytest.raises(StopIteration):
        written.send(None)
    ((name, seconds),) = read(tmp_path).items()
    assert name == request.node.nodeid
    assert 0 <= seconds < 1


def double(x):
    return 2 * x


def test_a_new_shape_compiles_and_another_value_does_not():
    call = jax.jit(double)
    here = [np.full(size, value, np.float32) for size, value in ((3, 0), (3, 1), (4, 1))]
    assert [compilations(lambda x=x: call(x)) for x in here] == [1, 0, 1]
