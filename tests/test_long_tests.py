"""The list of long tests names tests that there are."""

import re
from pathlib import Path

import pytest
from long_tests import entries, long_ones

ROOT = Path(__file__).parents[1]


def is_there(entry: str) -> bool:
    """Whether the file exists, and the test in it; a doctest is that of a function, a class, a method or the module."""
    file, _, test = entry.partition("[")[0].partition("::")
    path = ROOT / file
    if not path.is_file() or not test:
        return path.is_file()
    module, name = file.removesuffix(".py").replace("/", "."), test.rpartition(".")[2]
    is_doctest = file.startswith("jaxcert/")
    known = test == module or test.startswith(f"{module}.") if is_doctest else "." not in test
    return known and (test == module or bool(re.search(rf"^ *(?:def|class) {name}\b", path.read_text(), re.MULTILINE)))


def test_the_list_is_sorted_and_names_tests_that_there_are():
    listed = entries()
    assert listed == sorted(set(listed))
    if not (ROOT / "jaxcert").is_dir():
        pytest.skip("needs the checkout")
    assert [entry for entry in listed if not is_there(entry)] == []


def test_what_is_not_there_is_noticed():
    assert is_there("tests/test_long_tests.py::test_what_is_not_there_is_noticed[a]")
    assert not is_there("tests/test_long_tests.py::test_what_is")
    assert not is_there("tests/test_short_tests.py")


def test_a_case_is_long_with_its_test_and_its_file():
    listed = ["a.py", "b.py::test_c", "b.py::test_d[1]", "b.py::test_e[...]"]
    long = [
        "a.py::test_b[2]",
        "b.py::test_c",
        "b.py::test_c[1]",
        "b.py::test_d[1]",
        "b.py::test_e[2]",
        "b.py::test_e[3]",
    ]
    others = ["b.py::test_d[2]", "b.py::test_e[1]", "aa.py::test_b", "b.py::test_cc"]
    assert long_ones(others + long, listed) == set(long)


def test_they_are_marked(request):
    items = {item.nodeid: item for item in request.session.items}
    assert [name for name in long_ones(items, entries()) if not items[name].get_closest_marker("slow")] == []
