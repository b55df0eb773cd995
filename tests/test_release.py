"""What `make release` looks at before it builds, and the targets that the continuous integration makes."""

import importlib.util
import re
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / ".ci/release_check.py"
GOOD = {
    "citation": "version: 1.2.0\n",
    "changelog": "# Changelog\n\n## 1.2.0 (2026-11-29)\n",
    "uncommitted": "",
    "tags": [],
}


@pytest.fixture
def faults():
    if not FILE.is_file():
        pytest.skip("needs the checkout")
    spec = importlib.util.spec_from_file_location("release_check", FILE)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module.faults


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"citation": "version: 1.1.0\n"}, "CITATION.cff has version 1.1.0; expected 1.2.0"),
        ({"citation": "title: jaxcert\n"}, "CITATION.cff has version None"),
        ({"changelog": "## 1.2.0 (unreleased)\n"}, "expected '## 1.2.0 (YYYY-MM-DD)'"),
        ({"changelog": "## 1.1.0 (2026-11-29)\n"}, "expected '## 1.2.0 (YYYY-MM-DD)'"),
        ({"uncommitted": " M README.md"}, "changes are not committed"),
        ({"tags": ["v1.1.0", "v1.2.0"]}, "the tag v1.2.0 exists"),
    ],
)
def test_a_release_says_its_version_once(faults, change, message):
    assert faults("1.2.0", **GOOD) == []
    (found,) = faults("1.2.0", **GOOD | change)
    assert message in found


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


def test_tests_that_a_target_names_are_there():
    """In an environment of its own one that is gone is noticed late."""
    named = re.findall(r"([\w./]*\w\.py)\b(?:::(\w+))?", text("Makefile"))
    assert len(named) > 20
    for file, test in named:
        found = [path for path in (ROOT / "tests" / file, ROOT / file.removeprefix("../../")) if path.is_file()]
        assert found, file
        assert test in found[0].read_text()
