"""The packages in their order: each uses those above it, never those below."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import jaxcert

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


def test_imports_are_found_anywhere_in_a_file(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(
        "import jaxcert.sweep\ndef f():\n    from jaxcert import certify\n    from jaxcert.cli import _app\n"
    )
    assert imported(file) == {"sweep", "certify", "cli"}


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
