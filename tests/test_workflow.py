"""The workflow for GitHub and the script of the continuous integration make the same targets, all in the Makefile."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOW, SCRIPT = ".github/workflows/ci.yml", ".ci/run"


def text(name: str) -> str:
    if not (ROOT / name).is_file():
        pytest.skip("needs the checkout")
    return (ROOT / name).read_text()


def made(name: str) -> set[str]:
    """The targets that a file makes; ``environments`` is what some of the others begin with."""
    commands = re.findall(r"^\s*(?:- run: |beside \w+ )?make (.*)$", text(name), re.MULTILINE)
    of_the_matrix = re.findall(r"\{target: (\S+),", text(name))
    words = " ".join([*commands, *of_the_matrix]).split()
    return {word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)} - {"environments"}


def targets() -> set[str]:
    makefile = text("Makefile")
    phony = re.findall(r"^(?:\.PHONY:|ENVIRONMENTS :=) (.*)$", makefile, re.MULTILINE)
    return {word for line in phony for word in line.split()}


def test_they_make_the_same_targets_of_the_makefile():
    assert made(WORKFLOW) == made(SCRIPT)
    assert made(SCRIPT) <= targets()
    assert {"lint", "docs", "budget", "long-tests", "core", "oldest", "newest", "proofs"} <= made(SCRIPT)
