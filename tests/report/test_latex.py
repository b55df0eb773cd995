"""Sentences and tables for papers in LaTeX, and the files in which the command line writes them."""

import re

import numpy as np
import pytest
from cli_harness import command

from jaxcert import certify
from jaxcert.certificates import floor_to
from jaxcert.report._in_words import latex_text

PASSED = np.random.default_rng(0).random((3, 40, 10)) < np.array([0.95, 0.6, 0.2])[:, None, None]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    for name, returns in zip("abc", PASSED, strict=True):
        np.savez(folder / f"{name}.npz", returns=returns)
    return [folder / f"{name}.npz" for name in "abc"]


def body(text: str) -> list[list[str]]:
    """The cells of the rows below the headings."""
    inside = text[text.index("\\midrule") : text.index("\\bottomrule")].splitlines()[1:]
    assert all(line.endswith(" \\\\") for line in inside)
    return [re.split(r"(?<!\\) & ", line[:-3]) for line in inside]


def test_every_letter_with_a_meaning_is_escaped():
    name = "a_b & 5% of $x #1 {~^} \\end <|> \n\x07"
    text = latex_text([name], {"policy": [name], "mean": ["0.5"]})
    plain = re.sub(r"\\(text\w+\{\}|[&%$#_{}])", "", text[: text.index("% \\usepackage")])
    assert not set(plain) & set("&%$#_{}~^\\<>|")
    ((cell, mean),) = body(text)
    assert mean == "0.5"
    assert cell in text.splitlines()[0]
    assert text.count("\\begin{tabular}{lr}") == text.count("\\end{tabular}") == 1


def test_a_file_has_the_sentence_and_the_figures_of_the_answer(files, tmp_path):
    out = tmp_path / "c.tex"
    status, said, err = command("certify", files[0], "--threshold", "0.5,0.7", "--delta", 0.05, "--latex", out)
    assert (status, err) == (0, "")
    safety = certify(PASSED[0], [0.5, 0.7], delta=0.05).safety
    assert [row[:2] for row in body(out.read_text())] == [
        ["0.5", floor_to(float(safety[0]), 4)],
        ["0.7", floor_to(float(safety[1]), 4)],
    ]
    for line in said.splitlines()[-2:]:
        assert line in out.read_text()


def test_a_leaderboard_says_which_policy_is_as_good_as_which(files, tmp_path):
    out = tmp_path / "board.tex"
    assert command("compare", *files, "--names", "pi_0,act,50%", "--delta", 0.05, "--latex", out)[0] == 0
    assert out.read_text().startswith("pi\\_0 is at least as good as act and 50\\%.\n")
    assert [row[0] for row in body(out.read_text())] == ["pi\\_0", "act", "50\\%"]
