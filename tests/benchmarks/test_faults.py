"""The planted faults are what they were: each stands in its place, and its area has tests."""

import re

import pytest

from benchmarks.faults.__main__ import ROOT, RUNS, first_failure
from benchmarks.faults.planted import FAULTS


def test_every_fault_has_its_place_once():
    lost = [
        fault.name
        for fault in FAULTS
        if (ROOT / "jaxcert" / fault.file).read_text().count(fault.text) != 1 or fault.instead == fault.text
    ]
    assert not lost, "the text of these faults is not found once: give them the text that is there now"
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30
    assert all((ROOT / fault.area).exists() for fault in FAULTS)


def test_the_first_failure_is_named(tmp_path):
    (tmp_path / "test_two.py").write_text("def test_one():\n    pass\n\n\ndef test_two():\n    assert 1 - 1\n")
    assert first_failure(tmp_path, ["test_two.py"], 1) == "test_two.py::test_two"


def test_the_runs_are_those_of_make_test():
    if not (ROOT / "Makefile").is_file():
        pytest.skip("needs the checkout")
    recipe = re.search(r"^test: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    assert {f'-m "{marked}"' for marked, _ in RUNS} == set(re.findall(r'-m ".*?"', recipe[1]))
    assert [bool(settings) for marked, settings in RUNS if "not exact" in marked] == [True]
