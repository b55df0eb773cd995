"""Options of the command line: several numbers, likely mistakes, the page."""

import numpy as np
import pytest
from cli_harness import command, refused, said

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20))
SETTINGS = ("--support", 0, 1, "--delta", 0.05)


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "r.npy", RETURNS)
    return tmp_path / "r.npy"


def certified(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines() if " of 40 " in line and not line.startswith("Why")]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["0.2,0.5"], ["0.2", "0.5"]),
        (["0.1:0.9:0.1"], [f"0.{digit}" for digit in range(1, 10)]),
        (["0.1:0.6:0.2", "0.7"], ["0.1", "0.3", "0.5", "0.7"]),
        (["0.5:0.5:1,2e-1"], ["0.5", "0.2"]),
    ],
)
def test_several_numbers(file, given, meant):
    options = [part for value in given for part in ("--threshold", value)]
    status, out, _ = command("certify", file, *SETTINGS, *options)
    assert status == 0
    assert certified(out) == meant


def test_a_support_with_a_comma(file):
    rest = ("--delta", 0.05, "--threshold", 0.5)
    for spelled in (("--support", "0,1"), ("--support=0, 1",)):
        assert command("certify", file, *spelled, *rest) == command("certify", file, *SETTINGS, "--threshold", 0.5)
    assert "support [-1, 1]" in said("certify", file, "--support", "-1,1", *rest)


def test_likely_mistakes_are_warnings_and_with_strict_errors(tmp_path):
    luck = np.random.default_rng(2).uniform(-0.1, 0.1, 20)
    np.save(tmp_path / "r.npy", RETURNS * 0.8 + 0.1 + luck)
    arguments = ("certify", tmp_path / "r.npy", *SETTINGS, "--threshold", 0.5)
    status, out, err = command(*arguments)
    assert (status, certified(out)) == (0, ["0.5"])
    assert err.startswith("warning: ")
    assert err.endswith("[common-seeds]\n")
    assert "[common-seeds]" in refused(*arguments, "--strict", "--json", tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_an_option_that_a_question_does_not_take_is_named_with_what_it_asks(tmp_path):
    np.savez(tmp_path / "r.npz", returns=np.full((1, 1), 0.5))
    settings = ("certify", tmp_path / "r.npz", "--support", 0, 1, "--delta", 0.5)
    assert refused(*settings, "--suite", "--mean", "--safety", 0.5).endswith("); expected none\n")
    assert f"{tmp_path / 'r.npz'}: 1 task, 1 rollout each, support [0, 1]\n" in command(*settings, "--mean").out
