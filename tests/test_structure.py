"""The packages in their order: each uses those above it, never those below."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import jaxcert
from jaxcert.certificates import Certificate
from jaxcert.certificates._registry import METHODS
from jaxcert.questions import QUESTIONS

PACKAGE = Path(jaxcert.__file__).parent
CONTRIBUTING = PACKAGE.parent / "CONTRIBUTING.md"


def order() -> list[str]:
    """As CONTRIBUTING.md lists them."""
    if not CONTRIBUTING.exists():
        pytest.skip("needs the checkout")
    return re.findall(r"^\| `(\w+)` \|", CONTRIBUTING.read_text(), re.MULTILINE)


def imported(file: Path) -> set[str]:
    """Packages of jaxcert that a file imports, anywhere in it; the top package counts as the last of them."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: an import is relative"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("jaxcert.")}
    return {name for name in found if not name.startswith("_")}


def test_every_package_is_listed():
    assert set(order()) == {file.parent.name for file in PACKAGE.glob("*/__init__.py")}


def test_imports_point_upwards_in_the_list():
    rank = {name: place for place, name in enumerate(order())}
    wrong = {}
    for file in sorted(PACKAGE.glob("*/**/*.py")):
        own = file.relative_to(PACKAGE).parts[0]
        # What is no package is a name of the top package, which only the command line may use.
        below = {name for name in imported(file) if rank.get(name, rank["cli"]) > rank[own]}
        wrong |= {str(file.relative_to(PACKAGE)): below} if below else {}
    assert wrong == {}


def known_questions(file: Path) -> set[str]:
    """What a file knows of single questions: entries and types that it imports, and names that it compares with."""
    kinds = {question.certificate.__name__ for question in QUESTIONS.values()} - {Certificate.__name__}
    kinds |= {name.upper() for name in QUESTIONS}
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and re.match(
            r"jaxcert(\.(certificates|questions|sequential)|$)", node.module or ""
        ):
            found |= {alias.name for alias in node.names} & kinds
        elif isinstance(node, ast.Compare | ast.MatchValue) or (
            isinstance(node, ast.Subscript) and ast.unparse(node.value) == "QUESTIONS"
        ):
            constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            found |= {name for name in QUESTIONS if name in constants}
    return found


def compared_methods(file: Path) -> set[str]:
    """The methods that a file compares with, by name or by entry: their properties are to be read from them."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Compare | ast.MatchValue):
            names = {each.id.lower() for each in ast.walk(node) if isinstance(each, ast.Name) and each.id.isupper()}
            texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            found |= {name for name in METHODS if name in names | texts}
    return found


@pytest.mark.parametrize(("known_to", "last"), [(known_questions, "sweep"), (compared_methods, "diagnostics")])
def test_surfaces_read_questions_and_methods_and_know_none(known_to, last):
    """CONTRIBUTING.md promises it to those who add one."""
    files = [file for area in ("report", "cli", "planning", last) for file in (PACKAGE / area).rglob("*.py")]
    known = {str(file.relative_to(PACKAGE)): known_to(file) for file in files}
    assert {place: names for place, names in known.items() if names} == {}


def test_no_two_modules_share_a_name():
    """But for exports and registries, which mean the same everywhere."""
    places = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        places[file.name].add(str(file.parent.relative_to(PACKAGE)))
    alike = {"__init__.py", "_registry.py"}
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in alike} == {}


def test_the_citation_names_this_version():
    citation = PACKAGE.parent / "CITATION.cff"
    if not citation.exists():
        pytest.skip("needs the checkout")
    assert re.findall(r"^version: (.*)$", citation.read_text(), re.MULTILINE) == [jaxcert.__version__]
